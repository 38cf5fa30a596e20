"""The text that a PDF page carries itself, as lines in upright pixels.

PDFium gives characters in reading order with line breaks between them; here they become runs with a
quad. Call it under the PDFium lock. This module must not render, nor judge whether the text is any
good.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from tierocr.shared.document import Matrix3, Point, Quad, TextRun

_COLUMN_GAP = 2.0  # line heights between two characters that do not belong together
_SAME_DIRECTION = math.radians(10)
_NO_CHARACTER = {0x00, 0xFFFE, 0xFFFF}
_BREAK = "\n"


@dataclass(frozen=True, slots=True)
class _Glyph:
    """One character. `left`..`top`: its loose box in points, y up. `angle`: radians clockwise."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    angle: float

    def along(self, angle: float) -> tuple[float, float]:
        """Its extent along a reading direction."""
        return self._extent(math.cos(angle), -math.sin(angle))

    def upwards(self, angle: float) -> tuple[float, float]:
        """Its extent along the upright of a reading direction."""
        return self._extent(math.sin(angle), math.cos(angle))

    def _extent(self, dx: float, dy: float) -> tuple[float, float]:
        across = sorted((self.left * dx, self.right * dx))
        up = sorted((self.bottom * dy, self.top * dy))
        return across[0] + up[0], across[1] + up[1]


def read_text_layer(page: Any, transform: Matrix3, size: tuple[int, int]) -> tuple[TextRun, ...]:
    """Read the lines of a loaded page.

    `transform`: upright pixels -> points of the unrotated crop box, y down. `size`: height and
    width in pixels; runs whose centre lies outside are left out. A quad holds full ascent and
    descent; for text at an odd angle it is somewhat generous.
    """
    box_left, _, _, box_top = page.get_bbox()
    to_crop_box = np.array([[1.0, 0.0, -box_left], [0.0, -1.0, box_top], [0.0, 0.0, 1.0]])
    to_pixels = np.linalg.inv(np.array(transform)) @ to_crop_box
    textpage = page.get_textpage()
    try:
        lines = list(_lines(textpage))
    finally:
        textpage.close()
    runs = (_run(line, to_pixels) for line in lines)
    return tuple(run for run in runs if run.text and _is_inside(run.quad, size))


def _lines(textpage: Any) -> Iterator[list[_Glyph]]:
    """Group the characters to lines; each starts with ink and may end in spaces."""
    line: list[_Glyph] = []
    last_ink: _Glyph | None = None
    for glyph in _glyphs(textpage):
        ink = not glyph.text.isspace()
        if last_ink and (glyph.text == _BREAK or (ink and _starts_anew(last_ink, glyph))):
            yield line
            line, last_ink = [], None
        if ink or last_ink:
            line.append(glyph)
        if ink:
            last_ink = glyph
    if line:
        yield line


def _glyphs(textpage: Any) -> Iterator[_Glyph]:
    box = pdfium.FS_RECTF()
    for index in range(pdfium.FPDFText_CountChars(textpage)):
        code = pdfium.FPDFText_GetUnicode(textpage, index)
        hyphen = pdfium.FPDFText_IsHyphen(textpage, index) == 1
        text = "-" if hyphen else _BREAK if code in (0x0A, 0x0D) else chr(code)
        if code in _NO_CHARACTER or (not text.isspace() and code < 0x20 and not hyphen):
            continue
        if not pdfium.FPDFText_GetLooseCharBox(textpage, index, box):
            continue
        angle = pdfium.FPDFText_GetCharAngle(textpage, index)
        yield _Glyph(text, box.left, box.bottom, box.right, box.top, angle)
        if hyphen:
            # PDFium joins a word that is divided at the end of a line and leaves out the break.
            yield _Glyph(_BREAK, box.right, box.bottom, box.right, box.top, angle)


def _starts_anew(last: _Glyph, glyph: _Glyph) -> bool:
    """Tell whether a character begins another line: turned otherwise, or far from the last."""
    turn = (glyph.angle - last.angle + math.pi) % (2 * math.pi) - math.pi
    if abs(turn) > _SAME_DIRECTION:
        return True
    low, high = last.upwards(last.angle)
    gap = glyph.along(last.angle)[0] - last.along(last.angle)[1]
    return gap > _COLUMN_GAP * (high - low)


def _run(line: list[_Glyph], to_pixels: NDArray[np.float64]) -> TextRun:
    """Make a run of a line: its quad runs around the inked characters, in reading direction."""
    angle = line[0].angle
    ink = [glyph for glyph in line if not glyph.text.isspace()]
    starts, ends = zip(*(glyph.along(angle) for glyph in ink), strict=True)
    lows, highs = zip(*(glyph.upwards(angle) for glyph in ink), strict=True)
    start, end, low, high = min(starts), max(ends), min(lows), max(highs)
    direction = np.array([math.cos(angle), -math.sin(angle)])
    upwards = np.array([math.sin(angle), math.cos(angle)])
    corners = [
        start * direction + high * upwards,
        end * direction + high * upwards,
        end * direction + low * upwards,
        start * direction + low * upwards,
    ]
    top_left, top_right, bottom_right, bottom_left = (_point(c, to_pixels) for c in corners)
    text = _whole_characters("".join(glyph.text for glyph in line)).strip()
    return TextRun(text=text, quad=(top_left, top_right, bottom_right, bottom_left))


def _point(corner: NDArray[np.float64], to_pixels: NDArray[np.float64]) -> Point:
    x, y, _ = to_pixels @ np.array([corner[0], corner[1], 1.0])
    return float(x), float(y)


def _is_inside(quad: Quad, size: tuple[int, int]) -> bool:
    x = sum(point[0] for point in quad) / 4
    y = sum(point[1] for point in quad) / 4
    return 0 <= x < size[1] and 0 <= y < size[0]


def _whole_characters(text: str) -> str:
    """Join the halves of characters past U+FFFF, which PDFium may give one by one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
