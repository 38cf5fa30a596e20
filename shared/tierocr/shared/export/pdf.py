"""Searchable PDF: the picture of each page, and under it the text that is there to be found.

Every piece of a line stands where it was read, in the mode that shows nothing (PDF 32000-1, 9.3.6:
text rendering mode 3). Which characters they are says a ToUnicode map (9.10.3), so that Chinese is
found and copied as well as English.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import cv2

from tierocr.shared.document import Document, Line, Page, PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.hidden_font import hidden_font
from tierocr.shared.export.pictures import paired, upright
from tierocr.shared.export.spelling import Piece, pieces_of
from tierocr.shared.geometry import quad_size

if TYPE_CHECKING:
    import pikepdf

QUALITY = 85
DPI = 200.0
"""Where a page does not say how large it is."""

_FONT = "/F0"
_DESCENT = 0.2
"""Share of the line's height that lies under the baseline."""

_MOST_CODES = 0xFFFE
_MAP_HEAD = """\
/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
"""
_MAP_TAIL = "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"


class Codes:
    """The codes of the characters that a document has, given in the order in which they come."""

    def __init__(self) -> None:
        """No character yet; code 0 means none."""
        self._codes: dict[str, int] = {}

    def encode(self, text: str) -> str:
        """A text as hexadecimal codes of two bytes; beyond 65,534 different characters the rest
        is U+FFFD.
        """
        return "".join(f"{self._code(char):04X}" for char in text)

    def _code(self, char: str) -> int:
        if char not in self._codes and len(self._codes) >= _MOST_CODES - 1:
            char = "\ufffd"
        return self._codes.setdefault(char, len(self._codes) + 1)

    def __len__(self) -> int:
        """How many codes there are, with that of no character."""
        return len(self._codes) + 1

    def to_unicode(self) -> bytes:
        """The map from codes to characters."""
        rows = [
            f"<{code:04X}> <{char.encode('utf-16-be', 'replace').hex().upper()}>"
            for char, code in self._codes.items()
        ]
        blocks = [rows[i : i + 100] for i in range(0, len(rows), 100)]
        body = "".join(
            f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar\n" for block in blocks
        )
        return f"{_MAP_HEAD}{body}{_MAP_TAIL}".encode("ascii")


def to_pdf(document: Document, images: Iterable[PageImage]) -> bytes:
    """All pages that have a picture. Raises TierocrError `internal` if a picture cannot be
    encoded, `not_found` if no page has one.
    """
    import pikepdf  # loaded only by those who write PDF

    pdf = pikepdf.new()
    codes = Codes()
    font = pdf.make_indirect(pikepdf.Dictionary())
    for page, image in paired(document.pages, images):
        if image is not None and page.error is None:
            _add_page(pdf, page, upright(image, page), font, codes)
    if not len(pdf.pages):
        raise TierocrError("not_found", "no page has a picture")
    _fill_font(pdf, font, codes)
    out = io.BytesIO()
    pdf.save(out, deterministic_id=True)
    return out.getvalue()


def page_text(page: Page, scale: float, codes: Codes) -> str:
    """The operators that write a page's lines. `scale`: points per pixel."""
    height = page.height * scale
    parts = [_line_text(line, scale, height, codes) for line in page.lines]
    return f"BT\n3 Tr\n{''.join(parts)}ET\n"


def _line_text(line: Line, scale: float, height: float, codes: Codes) -> str:
    size = max(quad_size(line.region.quad)[1] * scale, 1.0)
    pieces = pieces_of(line)
    return "".join(
        _piece_text(piece, pieces[n:], size, scale, height, codes)
        for n, piece in enumerate(pieces, 1)
    )


def _piece_text(
    piece: Piece, rest: Sequence[Piece], size: float, scale: float, height: float, codes: Codes
) -> str:
    """A piece along its lower edge, with the space behind it as wide as the gap there."""
    text = piece.text + " " * (piece.space and bool(rest))
    if not text:
        return ""
    left, right = piece.quad[3], piece.quad[2]
    end = rest[0].quad[3] if text != piece.text else right
    across = math.dist(left, right)
    cos, sin = (
        ((right[0] - left[0]) / across, (right[1] - left[1]) / across) if across else (1.0, 0.0)
    )
    along = max((end[0] - left[0]) * cos + (end[1] - left[1]) * sin, across, 0.01) * scale
    raised = _DESCENT * size
    x = left[0] * scale + sin * raised
    y = height - left[1] * scale + cos * raised
    stretch = 100 * along / (len(text) * size)
    return (
        f"{_FONT} {size:.2f} Tf {stretch:.3f} Tz\n"
        f"{cos:.5f} {-sin:.5f} {sin:.5f} {cos:.5f} {x:.2f} {y:.2f} Tm\n"
        f"<{codes.encode(text)}> Tj\n"
    )


def _add_page(
    pdf: pikepdf.Pdf, page: Page, pixels: Pixels, font: pikepdf.Object, codes: Codes
) -> None:
    import pikepdf

    scale = 72.0 / (page.dpi or DPI)
    width, height = page.width * scale, page.height * scale
    picture = pdf.make_stream(
        _jpeg(pixels),
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=pixels.shape[1],
        Height=pixels.shape[0],
        ColorSpace=pikepdf.Name.DeviceRGB,
        BitsPerComponent=8,
        Filter=pikepdf.Name.DCTDecode,
    )
    content = f"q {width:.3f} 0 0 {height:.3f} 0 0 cm /I0 Do Q\n" + page_text(page, scale, codes)
    added = pikepdf.Dictionary(
        Type=pikepdf.Name.Page,
        MediaBox=[0, 0, round(width, 3), round(height, 3)],
        Resources=pikepdf.Dictionary(
            XObject=pikepdf.Dictionary({"/I0": picture}), Font=pikepdf.Dictionary({_FONT: font})
        ),
        Contents=pdf.make_stream(content.encode("ascii")),
    )
    pdf.pages.append(pikepdf.Page(pdf.make_indirect(added)))


def _fill_font(pdf: pikepdf.Pdf, font: pikepdf.Object, codes: Codes) -> None:
    """A composite font: codes of two bytes, each the same box."""
    import pikepdf

    name = pikepdf.Name("/TierocrHidden")
    file = hidden_font()
    descriptor = pikepdf.Dictionary(
        Type=pikepdf.Name.FontDescriptor,
        FontName=name,
        Flags=4,
        FontBBox=[0, -200, 1000, 800],
        ItalicAngle=0,
        Ascent=800,
        Descent=-200,
        CapHeight=800,
        StemV=80,
        FontFile2=pdf.make_stream(file, Length1=len(file)),
    )
    descendant = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.CIDFontType2,
        BaseFont=name,
        CIDSystemInfo=pikepdf.Dictionary(
            Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("Identity"), Supplement=0
        ),
        FontDescriptor=pdf.make_indirect(descriptor),
        DW=1000,
        CIDToGIDMap=pdf.make_stream(b"\0\1" * len(codes)),
    )
    for key, value in {
        "/Type": pikepdf.Name.Font,
        "/Subtype": pikepdf.Name.Type0,
        "/BaseFont": name,
        "/Encoding": pikepdf.Name("/Identity-H"),
        "/DescendantFonts": pikepdf.Array([pdf.make_indirect(descendant)]),
        "/ToUnicode": pdf.make_stream(codes.to_unicode()),
    }.items():
        font[key] = value


def _jpeg(pixels: Pixels) -> bytes:
    ok, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not ok:
        raise TierocrError("internal", "a page could not be encoded")
    return encoded.tobytes()
