"""Which regions are looked at by the detector again, and what the lines found in one make together.

Pure functions of arrays and values. A region should hold one line. One that holds several comes out
as rubbish, or as one of them, when it is read as a line; one that reads as nothing may hold a line
that stands somewhere in it; and a tall one may be a block of short lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from tierocr.shared.cropping import cut
from tierocr.shared.document import Pixels, Quad, Region
from tierocr.shared.geometry import COLUMN_ASPECT, bounds, grow, quad_size, turn
from tierocr.shared.ocr.lines import is_ideographic
from tierocr.shared.ocr.orientation import is_column
from tierocr.shared.protocol import Refined, RefinedChar
from tierocr.shared.reading_order import reading_order
from tierocr.shared.recognition import SPACE

RUBBISH_BELOW, DOUBT_BELOW = 0.7, 0.95
"""A region is looked at when its mean character probability is lower than the first, a tall one
when it is lower than the second.
"""

MOST_LINES = 32
"""Lines of one region that are read."""

FRAME = 16
"""Pixels of paper around a region: text at the very edge of a picture is not found."""

_VALLEY = 0.25
_LEAST_LINE = 0.3
_LEAST_CONTRAST = 32
_SLIVER = 0.5
_CHANCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineOf:
    """A line inside a region: its pixels, and where it stands along the region's width, 0 to 1."""

    pixels: Pixels
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a crop looks like. `tall`: it may be a column, or a block of short lines."""

    blank: bool = False
    tall: bool = False
    several_lines: bool = False


def shape_of(crop: Pixels) -> Shape:
    """Of a crop."""
    if int(np.ptp(crop)) < _LEAST_CONTRAST:
        return Shape(blank=True)
    height, width = crop.shape[:2]
    return Shape(tall=height > COLUMN_ASPECT * width, several_lines=holds_several_lines(crop))


def worth_looking(shape: Shape, mean: float) -> bool:
    """Whether the detector should look into a crop that was read with this mean character
    probability, 0 for nothing.
    """
    doubtful = mean < (DOUBT_BELOW if shape.tall else RUBBISH_BELOW)
    return not shape.blank and (doubtful or shape.several_lines)


def holds_several_lines(crop: Pixels) -> bool:
    """Whether a row with little ink parts two bands that each have much of it.

    Of real pages' lines, cut with a margin, 2 in 100 look so, of pairs of lines 99 in 100.
    """
    profile = _ink(crop)
    least = max(1, round(_LEAST_LINE * len(profile)))
    inner = profile[least : len(profile) - least]
    if not inner.size:
        return False
    row = least + int(np.argmin(inner))
    return float(profile[row]) < _VALLEY * min(_dense(profile[:row]), _dense(profile[row + 1 :]))


def framed(crop: Pixels) -> Pixels:
    """What the detector is given: the crop within a frame of the colour that its border has
    mostly.
    """
    height, width = crop.shape[:2]
    edges = np.concatenate((crop[0], crop[-1], crop[:, 0], crop[:, -1]))
    size = (height + 2 * FRAME, width + 2 * FRAME, 3)
    picture = np.empty(size, dtype=np.uint8)
    picture[:] = np.median(edges, axis=0)
    picture[FRAME:-FRAME, FRAME:-FRAME] = crop
    return picture


def lines_of(picture: Pixels, regions: Sequence[Region]) -> list[LineOf]:
    """The lines found in a framed crop, in their reading order; slivers of neighbours are left
    out. A column is cut as it stands on the page.
    """
    heights = [quad_size(r.quad)[1] for r in regions]
    least = _SLIVER * max(heights, default=0.0)
    quads = [r.quad for r, h in zip(regions, heights, strict=True) if h >= least]
    ordered = [quads[i] for i in reading_order(quads)][:MOST_LINES]
    return [_line(picture, quad) for quad in ordered]


def joined(region_id: str, lines: Sequence[tuple[LineOf, Refined]]) -> Refined:
    """The answer for the region: its lines one after the other, with a space between them unless
    both sides are ideographs.
    """
    chars: list[RefinedChar] = []
    for line, refined in lines:
        placed = [_placed(char, line) for char in refined.chars]
        if chars and placed and not (_ideograph(chars[-1]) and _ideograph(placed[0])):
            at = placed[0].start
            chars.append(RefinedChar(text=SPACE, score_raw=1.0, start=at, end=at))
        chars += placed
    score = min((c.score_raw for c in chars if c.text != SPACE), default=0.0)
    return Refined(
        id=region_id,
        text="".join(c.text for c in chars),
        chars=tuple(chars),
        score_raw=score,
        confidence=score,
    )


def says_more(new: Refined, old: Refined) -> bool:
    """Whether more of the new answer can be relied on: each character counts by what its
    probability is above chance, so that neither rubbish nor half of a text wins.
    """
    return bool(new.text) and _certain(new) > _certain(old)


def _certain(refined: Refined) -> float:
    return sum(c.score_raw - _CHANCE for c in refined.chars if c.text != SPACE)


def _ink(crop: Pixels) -> NDArray[np.float64]:
    """For each row how much of it is ink, whichever of dark and light is the rarer."""
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    threshold, _ = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    ink = np.asarray(grey) <= threshold
    if ink.mean() > 0.5:
        ink = ~ink
    return np.asarray(ink.mean(axis=1), dtype=np.float64)


def _dense(band: NDArray[np.float64]) -> float:
    """The mean of the half of a band's rows that has the most ink."""
    return float(np.sort(band)[len(band) // 2 :].mean()) if band.size else 0.0


def _line(picture: Pixels, quad: Quad) -> LineOf:
    x0, _, x1, _ = bounds(quad)
    width = picture.shape[1] - 2 * FRAME
    start, end = (min(max((x - FRAME) / width, 0.0), 1.0) for x in (x0, x1))
    grown = grow(quad, 0.1 * quad_size(quad)[1], 0.8)
    pixels = cut(picture, turn(grown, 3) if is_column(quad) else grown)
    return LineOf(pixels=pixels, start=start, end=end)


def _placed(char: RefinedChar, line: LineOf) -> RefinedChar:
    along = line.end - line.start
    return replace(char, start=line.start + char.start * along, end=line.start + char.end * along)


def _ideograph(char: RefinedChar) -> bool:
    return is_ideographic(char.text[-1:] or SPACE)
