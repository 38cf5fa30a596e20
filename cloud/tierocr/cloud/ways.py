"""The ways in which a crop may have to be read, and the answer that the best one makes.

Pure functions of arrays and values. A crop holds one line. A tall one may be a line that runs down
or up, a column of upright glyphs, or one narrow glyph; the picture alone does not tell, so it is
read in each way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tierocr.shared.cropping import scale_to_height
from tierocr.shared.document import Pixels
from tierocr.shared.geometry import COLUMN_ASPECT
from tierocr.shared.ocr.lines import with_spaces
from tierocr.shared.ocr.stacking import Restacked, restack, unstack
from tierocr.shared.protocol import Refined, RefinedChar
from tierocr.shared.recognition import SPACE, Reading, RecogniserFacts, input_width

MOST_WAYS = 4

MOST_COLUMNS = 16_384
"""Input columns of the longest line that is read. One pixel may be a hundred columns: a picture of
a few bytes would keep a device busy for minutes.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """One way to read a crop.

    `pixels`: scaled to the recogniser's height. `size`: (length along the reading direction, height
    across it) before scaling. `bucket`, `content`: padded and own width in input columns. `inset`:
    what was cut off at either end, as a fraction of the crop's length.
    """

    pixels: Pixels
    size: tuple[float, float]
    bucket: int
    content: int
    stacked: Restacked | None = None
    inset: float = 0.0

    def place(self, reading: Reading) -> Reading:
        """The reading with its glyphs where they stand along the crop."""
        if self.stacked is not None:
            return unstack(reading, self.stacked)
        if self.inset:
            inner = 1 - 2 * self.inset
            glyphs = (
                replace(g, start=self.inset + g.start * inner, end=self.inset + g.end * inner)
                for g in reading.glyphs
            )
            return replace(reading, glyphs=tuple(glyphs))
        return reading


def too_long(crop: Pixels, facts: RecogniserFacts) -> bool:
    """Whether a crop is no line: so long, or so tall, for its height that nobody could read it."""
    height, width = crop.shape[:2]
    return bool(facts.height * max(height, width) > MOST_COLUMNS * min(height, width))


def plain_way(crop: Pixels, facts: RecogniserFacts) -> Way:
    """The crop as it is."""
    return _way(crop, facts)


def ways_of(crop: Pixels, angle: float, facts: RecogniserFacts) -> list[Way]:
    """At least one way, the plain one first. `angle`: see `Line.angle`."""
    height, width = crop.shape[:2]
    ways = [_way(crop, facts)]
    column = None
    if height > COLUMN_ASPECT * width:
        ways += [_way(np.rot90(crop, 1), facts), _way(np.rot90(crop, -1), facts)]
        column = crop
    elif width > COLUMN_ASPECT * height and 45 < angle < 135:
        # Cut along a line that runs down the page: upright glyphs lie on their side in it.
        column = np.ascontiguousarray(np.rot90(crop, -1))
    stacked = restack(column) if column is not None else None
    if column is not None and stacked is not None:
        size = (float(column.shape[0]), float(column.shape[1]))
        ways.append(_way(stacked.row, facts, size=size, stacked=stacked))
    return ways


def inner_way(crop: Pixels, margin: float, facts: RecogniserFacts) -> Way | None:
    """The line without its margin (pixels on every side), or None where nothing would be left.

    A second view of a doubtful line: with less around it, another character may come out on top.
    """
    height, width = crop.shape[:2]
    cut = round(margin)
    if cut < 1 or min(height, width) <= 4 * cut:
        return None
    way = _way(crop[cut : height - cut, cut : width - cut], facts)
    return replace(way, inset=cut / width)


def refined_of(region_id: str, reading: Reading, size: tuple[float, float]) -> Refined:
    """The answer that a reading makes; spaces are put as the edge puts them.

    `chars` are the characters of `text`, spaces included, where the network saw them.
    """
    glyphs = with_spaces(reading.glyphs, size)
    while glyphs and glyphs[0].text == SPACE:
        del glyphs[0]
    while glyphs and glyphs[-1].text == SPACE:
        del glyphs[-1]
    score = min((g.probability for g in glyphs if g.text != SPACE), default=0.0)
    return Refined(
        id=region_id,
        text="".join(g.text for g in glyphs),
        chars=tuple(
            RefinedChar(text=g.text, score_raw=g.probability, start=g.start, end=g.end)
            for g in glyphs
        ),
        score_raw=score,
        confidence=score,
    )


def _way(
    crop: Pixels,
    facts: RecogniserFacts,
    *,
    size: tuple[float, float] | None = None,
    stacked: Restacked | None = None,
) -> Way:
    scaled = np.ascontiguousarray(scale_to_height(np.ascontiguousarray(crop), facts.height))
    content = scaled.shape[1] + 2 * facts.end_padding
    return Way(
        pixels=scaled,
        size=size or (float(crop.shape[1]), float(crop.shape[0])),
        # A longer line is read in pieces; it waits with the longest that are read whole.
        bucket=input_width(min(content, facts.max_width), facts),
        content=content,
        stacked=stacked,
    )
