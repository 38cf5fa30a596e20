"""ALTO 4.4: XML of the Library of Congress for where text stands on a page.

https://www.loc.gov/standards/alto/. Measured in whole pixels of the upright page.
"""

from __future__ import annotations

import math
from importlib import metadata

from tierocr.shared.document import Document, Line, Page, Quad
from tierocr.shared.export.spelling import Piece, pieces_of
from tierocr.shared.export.xml import attributes, text
from tierocr.shared.geometry import bounds

NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
_SCHEMA = "http://www.loc.gov/standards/alto/v4/alto-4-4.xsd"

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<alto xmlns="{namespace}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{namespace} {schema}">
 <Description>
  <MeasurementUnit>pixel</MeasurementUnit>
  <sourceImageInformation>
   <fileName>{name}</fileName>
  </sourceImageInformation>
  <Processing ID="OCR_1">
   <processingStepSettings>{settings}</processingStepSettings>
   <processingSoftware>
    <softwareName>tierocr</softwareName>
    <softwareVersion>{version}</softwareVersion>
   </processingSoftware>
  </Processing>
 </Description>
 <Layout>
"""


def to_alto(document: Document) -> str:
    """All pages; one that could not be read is empty."""
    engine = document.engine
    head = _HEAD.format(
        namespace=NAMESPACE,
        schema=_SCHEMA,
        name=text(document.name),
        settings=text(f"{engine.pack} {engine.precision} {engine.runtime}"),
        version=text(metadata.version("tierocr")),
    )
    return f"{head}{''.join(map(_page, document.pages))} </Layout>\n</alto>\n"


def _page(page: Page) -> str:
    number = page.index + 1
    names: dict[str, object] = {
        "ID": f"page_{number}",
        "PHYSICAL_IMG_NR": number,
        "HEIGHT": page.height,
        "WIDTH": page.width,
    }
    space = {"HPOS": 0, "VPOS": 0, "WIDTH": page.width, "HEIGHT": page.height}
    blocks = "".join(_block(line, f"{number}_{n}") for n, line in enumerate(page.lines, 1))
    return (
        f"  <Page{attributes(names)}>\n   <PrintSpace{attributes(space)}>\n{blocks}"
        "   </PrintSpace>\n  </Page>\n"
    )


def _block(line: Line, number: str) -> str:
    """A block of its own for each line: what belongs together is not guessed."""
    box = _box(line.region.quad)
    pieces = pieces_of(line)
    content = "".join(_string(p, f"{number}_{n}", pieces[n:]) for n, p in enumerate(pieces, 1))
    return (
        f"    <TextBlock{attributes({'ID': f'block_{number}', **box})}>\n"
        f"     <TextLine{attributes({'ID': f'line_{number}', **box})}>{_shape(line.region.quad)}"
        f"{content}</TextLine>\n    </TextBlock>\n"
    )


def _string(piece: Piece, number: str, rest: list[Piece]) -> str:
    box = _box(piece.quad)
    names = {
        "ID": f"string_{number}",
        **box,
        "CONTENT": piece.text,
        "WC": round(min(max(piece.confidence, 0.0), 1.0), 4),
    }
    written = f"<String{attributes(names)}/>"
    if not piece.space or not rest:
        return written
    end = box["HPOS"] + box["WIDTH"]
    width = max(_box(rest[0].quad)["HPOS"] - end, 0)
    return f"{written}<SP{attributes({'HPOS': end, 'VPOS': box['VPOS'], 'WIDTH': width})}/>"


def _shape(quad: Quad) -> str:
    points = " ".join(f"{round(x)},{round(y)}" for x, y in quad)
    return f"<Shape><Polygon{attributes({'POINTS': points})}/></Shape>"


def _box(quad: Quad) -> dict[str, int]:
    x0, y0, x1, y1 = bounds(quad)
    left, top = math.floor(max(x0, 0)), math.floor(max(y0, 0))
    return {
        "HPOS": left,
        "VPOS": top,
        "WIDTH": math.ceil(max(x1 - left, 0)),
        "HEIGHT": math.ceil(max(y1 - top, 0)),
    }
