"""The drawing of a read page."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakes.lines import read_line
from tierocr.edge.annotating import CHANGED, FROM_CLOUD, SURE, UNSURE, annotate, colour_of
from tierocr.shared.document import CLOUD, Alternative, Line, Page
from tierocr.shared.geometry import rectangle

OTHER = Alternative(text="Total 12.80", source="edge", score_raw=0.5)
SAME = Alternative(text="Total 12.50", source="edge", score_raw=0.5)


def white(width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.full((height, width, 3), 255, dtype=np.uint8)


@pytest.mark.parametrize(
    ("line", "colour"),
    [
        (read_line(score=0.99), SURE),
        (read_line(score=0.5), UNSURE),
        (read_line(score=0.5, source=CLOUD, alternatives=(SAME,)), FROM_CLOUD),
        (read_line(score=0.5, source=CLOUD), FROM_CLOUD),
        (read_line(score=0.99, source=CLOUD, alternatives=(OTHER,)), CHANGED),
        (read_line(source=CLOUD, alternatives=(OTHER, SAME)), FROM_CLOUD),
    ],
)
def test_the_colour_says_who_read_it(line: Line, colour: tuple[int, int, int]) -> None:
    assert colour_of(line) == colour
    drawn = annotate(white(300, 200), Page(index=0, width=300, height=200, lines=(line,)))
    inside = drawn[40, 100].astype(int)
    tint = np.asarray(colour) * 0.22 + 255 * 0.78
    assert np.abs(inside - tint).max() <= 2
    assert (drawn[100, 250] == 255).all()


def test_the_page_is_left_alone_and_a_legend_added() -> None:
    pixels = white(600, 200)
    drawn = annotate(pixels, Page(index=0, width=600, height=200, lines=(read_line(),)))
    assert (pixels == 255).all()
    assert drawn.shape == (240, 600, 3) and drawn.dtype == np.uint8
    assert (drawn[200:] < 255).any()


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (5000, 20)])
def test_pages_of_odd_sizes(size: tuple[int, int]) -> None:
    line = read_line(quad=rectangle(-5, -5, 9000, 9000))
    drawn = annotate(white(*size), Page(index=0, width=size[0], height=size[1], lines=(line,)))
    assert drawn.shape[1] == size[0]
