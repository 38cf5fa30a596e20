"""hOCR 1.2: an XHTML page that says where each line and word stands.

http://kba.github.io/hocr-spec/1.2/. Boxes are whole pixels of the upright page, confidences
percents.
"""

from __future__ import annotations

import math

from tierocr.shared.document import Document, Line, Page, Quad
from tierocr.shared.export.spelling import pieces_of
from tierocr.shared.export.xml import attributes, text
from tierocr.shared.geometry import bounds

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" \
"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
 <head>
  <title>{title}</title>
  <meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
  <meta name="ocr-system"{system}/>
  <meta name="ocr-capabilities" content="ocr_page ocr_line ocrx_word ocrp_wconf"/>
 </head>
 <body>
"""


def to_hocr(document: Document) -> str:
    """All pages; one that could not be read is empty."""
    engine = document.engine
    system = attributes({"content": f"tierocr {engine.pack} {engine.precision} {engine.runtime}"})
    pages = "".join(_page(page, document.name) for page in document.pages)
    head = _HEAD.format(title=text(document.name), system=system)
    return f"{head}{pages} </body>\n</html>\n"


def _page(page: Page, name: str) -> str:
    quoted = name.replace('"', "'").replace(";", "_")
    about = [f'image "{quoted}"', f"bbox 0 0 {page.width} {page.height}", f"ppageno {page.index}"]
    if page.dpi is not None:
        about.append(f"scan_res {round(page.dpi)} {round(page.dpi)}")
    names = {"class": "ocr_page", "id": f"page_{page.index + 1}", "title": "; ".join(about)}
    lines = "".join(_line(line, page.index + 1, n) for n, line in enumerate(page.lines, 1))
    return f"  <div{attributes(names)}>\n{lines}  </div>\n"


def _line(line: Line, page: int, number: int) -> str:
    box = _box(line.region.quad)
    angle = f"; textangle {-line.angle:g}" if line.angle else ""
    height = f"; x_wconf {_percent(line.confidence)}"
    names = {
        "class": "ocr_line",
        "id": f"line_{page}_{number}",
        "title": f"{box}{angle}{height}",
    }
    words = "".join(
        f"<span{attributes(_word_names(f'word_{page}_{number}_{n}', p.quad, p.confidence))}>"
        f"{text(p.text)}</span>{' ' if p.space else ''}"
        for n, p in enumerate(pieces_of(line), 1)
    )
    return f"   <span{attributes(names)}>{words}</span><br/>\n"


def _word_names(name: str, quad: Quad, confidence: float) -> dict[str, object]:
    return {
        "class": "ocrx_word",
        "id": name,
        "title": f"{_box(quad)}; x_wconf {_percent(confidence)}",
    }


def _box(quad: Quad) -> str:
    x0, y0, x1, y1 = bounds(quad)
    return f"bbox {_floor(x0)} {_floor(y0)} {math.ceil(max(x1, 0))} {math.ceil(max(y1, 0))}"


def _floor(value: float) -> int:
    return math.floor(max(value, 0))


def _percent(value: float) -> int:
    return round(100 * min(max(value, 0.0), 1.0))
