from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.rendered import blank
from tierocr.shared.document import Pixels
from tierocr.shared.ocr.stacking import restack, unstack
from tierocr.shared.recognition import Glyph, Reading

WIDTH = 40


def column(tops: list[int], size: int = 30, height: int = 0, paper: int = 255) -> Pixels:
    """A column with a block of ink at each top, all of different darkness."""
    picture = np.full((height or tops[-1] + WIDTH, WIDTH, 3), paper, dtype=np.uint8)
    for i, top in enumerate(tops):
        picture[top : top + size, 5:35] = 10 + 8 * i if paper > 128 else 250 - 8 * i
    return picture


def glyph(text: str, middle: float) -> Glyph:
    return Glyph(text=text, start=middle, end=middle, probability=0.9, margin=0.9, entropy=0.1)


@given(st.integers(2, 12), st.integers(0, 8), st.sampled_from([255, 20]))
def test_each_glyph_gets_its_cell(count: int, gap: int, paper: int) -> None:
    tops = [6 + i * (38 + gap) for i in range(count)]
    stacked = restack(column(tops, size=34, paper=paper))
    assert stacked is not None and len(stacked.cells) == count
    height = tops[-1] + WIDTH
    for (start, end), top in zip(stacked.cells, tops, strict=True):
        assert start * height == pytest.approx(top, abs=2)
        assert end * height == pytest.approx(top + 34, abs=2)


def test_the_row_shows_the_glyphs_from_top_to_bottom() -> None:
    stacked = restack(column([5, 50, 95]))
    assert stacked is not None
    row = stacked.row
    assert row.shape[1] == pytest.approx(3 * WIDTH, abs=10)
    assert row.shape[0] < 1.5 * WIDTH
    width = row.shape[1] / 3
    shades = [int(row[:, int(i * width) : int((i + 1) * width)].min()) for i in range(3)]
    assert shades == [10, 18, 26]


def test_a_glyph_of_several_pieces_stays_one() -> None:
    picture = blank(WIDTH, 140)
    for top in (5, 55, 100):  # like the two strokes of 二
        picture[top : top + 5, 8:32] = 0
        picture[top + 25 : top + 30, 5:35] = 0
    stacked = restack(picture)
    assert stacked is not None and len(stacked.cells) == 3


def test_glyphs_that_touch_are_cut_apart() -> None:
    picture = blank(WIDTH, 180)
    picture[10:170, 5:35] = 0
    stacked = restack(picture)
    assert stacked is not None and len(stacked.cells) == 4


def test_one_glyph_or_none_is_no_column() -> None:
    assert restack(blank(WIDTH, 100)) is None
    assert restack(column([5], height=60)) is None


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 200))
def test_any_picture_can_be_tried(seed: int, width: int, height: int) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    stacked = restack(noise)
    if stacked is not None:
        assert len(stacked.cells) >= 2 and stacked.row.size
        assert all(0 <= a < b <= 1 for a, b in stacked.cells)


def test_glyphs_move_to_where_they_stand_in_the_column() -> None:
    stacked = restack(column([5, 50, 95]))
    assert stacked is not None
    reading = Reading(
        glyphs=tuple(glyph(c, (i + 0.5) / 3) for i, c in enumerate("一二三")), truncated=True
    )
    moved = unstack(reading, stacked)
    assert moved.text == "一二三" and moved.truncated
    assert tuple((g.start, g.end) for g in moved.glyphs) == stacked.cells
    (last,) = unstack(Reading(glyphs=(glyph("x", 1.0),)), stacked).glyphs
    assert (last.start, last.end) == stacked.cells[-1]
