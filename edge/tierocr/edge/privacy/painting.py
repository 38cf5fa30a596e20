"""The door that keeps to the rules: what must not leave is painted over, or stays as a whole.

A line that itself lies in a forbidden place does not leave: with a hole in it, it would come back
with a hole in its text. What its neighbours' crops, or a whole page, would show of such a place is
painted over before anything is scaled, and once more afterwards, and is then encoded without loss,
so that no trace of it is left in the pixels around. Arrays in, bytes out; must not know who
receives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from tierocr.edge.crops import FILL, Crop, PageCrop, encode_lines, encode_page
from tierocr.edge.leaving import Leave, LeavePage, plain_lines
from tierocr.edge.privacy.rules import Forbidden, LeaveRules, forbidden
from tierocr.shared.cropping import cut
from tierocr.shared.document import Line, Pixels
from tierocr.shared.geometry import grow, quad_size

RIM = 0.1
"""A line is touched if it is so within the box that was detected less so much on each side, in its
heights: boxes have a rim of paper and may overlap.
"""

RulesOf = Callable[[str], LeaveRules]
"""Name of a source -> its rules."""


def guarded_lines(rules_of: RulesOf) -> Leave:
    """The door for lines."""

    def leave(
        pixels: Pixels, lines: Sequence[Line], planned: Sequence[int], source: str
    ) -> dict[int, Crop]:
        rules = rules_of(source)
        if rules.allow == "never" or not planned:
            return {}
        if rules.plain:
            return plain_lines(pixels, lines, planned, source)
        found = forbidden(lines, pixels.shape[1], pixels.shape[0], rules)
        cover = cover_of(pixels, found)
        clean = covered(pixels, cover)
        free = [i for i in planned if i not in found.lines and not _touched(cover, lines[i])]
        return encode_lines(clean, lines, free, cover)

    return leave


def guarded_pages(rules_of: RulesOf) -> LeavePage:
    """The door for whole pages; only from sources whose rules name them."""

    def leave(pixels: Pixels, lines: Sequence[Line], source: str) -> PageCrop | None:
        rules = rules_of(source)
        if rules.allow != "pages":
            return None
        found = forbidden(lines, pixels.shape[1], pixels.shape[0], rules)
        cover = cover_of(pixels, found)
        stay = {i for i, line in enumerate(lines) if i in found.lines or _touched(cover, line)}
        return encode_page(covered(pixels, cover), cover, frozenset(stay))

    return leave


def cover_of(pixels: Pixels, found: Forbidden) -> Pixels:
    """(H, W) uint8: 255 where a page must not be seen."""
    cover = np.zeros(pixels.shape[:2], dtype=np.uint8)
    for polygon in found.polygons:
        corners = np.rint(np.asarray(polygon)).astype(np.int32)
        cv2.fillPoly(cover, [corners], (255,))
        cv2.polylines(cover, [corners], True, (255,), thickness=3)
    return cover


def covered(pixels: Pixels, cover: Pixels) -> Pixels:
    """The page with that painted over; the page itself stays as it is."""
    if not cover.any():
        return pixels
    clean: Pixels = pixels.copy()
    clean[cover > 0] = FILL
    return clean


def _touched(cover: Pixels, line: Line) -> bool:
    """Whether a line itself lies in a forbidden place."""
    rim = RIM * quad_size(line.region.quad)[1]
    inner = cut(cover, grow(line.region.quad, -rim, -rim))
    return bool(inner.any())
