"""The ways to read a crop, and what an answer is made of."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.fakes.engines import FACTS
from tierocr.cloud.ways import MOST_WAYS, Way, refined_of, ways_of
from tierocr.shared.document import Pixels
from tierocr.shared.ocr.lines import with_spaces
from tierocr.shared.recognition import Glyph, Reading, input_width, prepare


def blank(height: int, width: int) -> Pixels:
    return np.full((height, width, 3), 255, dtype=np.uint8)


def column(glyphs: int, side: int = 40) -> Pixels:
    """Upright signs below each other."""
    picture = blank(glyphs * side, side)
    for i in range(glyphs):
        cv2.circle(picture, (side // 2, i * side + side // 2), side // 3, (0, 0, 0), 3)
    return picture


def glyph(text: str, start: float, probability: float = 0.9) -> Glyph:
    return Glyph(
        text=text, start=start, end=start + 0.01, probability=probability, margin=1, entropy=0
    )


@pytest.mark.parametrize("size", [(48, 200), (20, 300), (90, 70), (100, 100), (1, 1), (3, 4000)])
def test_a_wide_crop_is_read_one_way(size: tuple[int, int]) -> None:
    crop = blank(*size)
    (way,) = ways_of(crop, 0.0, FACTS)
    assert way.size == (size[1], size[0])
    prepared = prepare(crop, FACTS)
    assert way.content == prepared.shape[1]
    assert np.array_equal(prepare(way.pixels, FACTS), prepared)  # scaling again changes nothing
    assert way.bucket == input_width(min(way.content, FACTS.max_width), FACTS)


def test_a_tall_crop_is_read_every_way() -> None:
    ways = ways_of(column(5), 0.0, FACTS)
    assert len(ways) == MOST_WAYS
    upright, down, up, stacked = ways
    assert upright.size == (40, 200)
    assert down.size == up.size == stacked.size == (200, 40)
    assert np.array_equal(down.pixels, up.pixels[::-1, ::-1])
    assert stacked.stacked is not None and len(stacked.stacked.cells) == 5


def test_upright_glyphs_are_found_in_a_crop_cut_along_a_column() -> None:
    page_column = column(4)
    crop = np.ascontiguousarray(np.rot90(page_column, 1))  # its reading direction laid flat
    plain, stacked = ways_of(crop, 90.0, FACTS)
    assert plain.size == stacked.size == (160, 40)
    expected = ways_of(page_column, 0.0, FACTS)[-1]
    assert np.array_equal(stacked.pixels, expected.pixels)
    assert len(ways_of(crop, 0.0, FACTS)) == 1


def test_glyphs_of_a_column_stand_where_they_stood() -> None:
    way = ways_of(column(4), 0.0, FACTS)[-1]
    row = Reading(glyphs=tuple(glyph(c, i / 4 + 0.12) for i, c in enumerate("abcd")))
    placed = way.place(row)
    middles = [(g.start + g.end) / 2 for g in placed.glyphs]
    assert middles == pytest.approx([0.125, 0.375, 0.625, 0.875], abs=0.02)


def test_an_answer_is_as_strong_as_its_weakest_character() -> None:
    glyphs = (glyph("a", 0.1, 0.9), glyph(" ", 0.2, 0.1), glyph("b", 0.3, 0.4))
    refined = refined_of("x", Reading(glyphs=glyphs), (100, 20))
    assert refined.text == "a b"
    assert refined.score_raw == refined.confidence == 0.4
    assert not refined.calibrated
    assert [c.text for c in refined.chars] == ["a", " ", "b"]


def test_spaces_at_the_ends_are_left_out() -> None:
    glyphs = tuple(glyph(c, i / 10) for i, c in enumerate("  ab "))
    refined = refined_of("x", Reading(glyphs=glyphs), (100, 20))
    assert refined.text == "ab" == "".join(c.text for c in refined.chars)
    assert refined_of("x", Reading(glyphs=(glyph(" ", 0.1),)), (100, 20)).text == ""


def test_spaces_are_put_as_the_edge_puts_them() -> None:
    starts = [0.0, 0.05, 0.10, 0.15, 0.40, 0.45, 0.50]
    glyphs = tuple(glyph(c, s) for c, s in zip("abcdefg", starts, strict=True))
    size = (300.0, 30.0)
    refined = refined_of("x", Reading(glyphs=glyphs), size)
    assert refined.text == "".join(g.text for g in with_spaces(glyphs, size)) == "abcd efg"


def test_a_way_is_plain_unless_it_was_restacked() -> None:
    way = Way(pixels=blank(48, 48), size=(48, 48), bucket=64, content=64)
    reading = Reading(glyphs=(glyph("a", 0.5),))
    assert way.place(reading) is reading
