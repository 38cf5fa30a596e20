from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.rendered import blank, line_crop, tilted_box
from tierocr.shared.cropping import cut, half_turn, scale_to_height, shrink_to_height
from tierocr.shared.document import Pixels, Quad
from tierocr.shared.geometry import rectangle, turn


def noise(width: int, height: int) -> Pixels:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(width: int, height: int) -> Pixels:
    """A picture in which half a pixel changes little."""
    return np.asarray(cv2.GaussianBlur(noise(width, height), (0, 0), 6), dtype=np.uint8)


def test_a_straight_box_is_cut_exactly() -> None:
    page = noise(80, 60)
    assert np.array_equal(cut(page, rectangle(10, 20, 50, 45)), page[20:45, 10:50])


@pytest.mark.parametrize("quarter_turns", [1, 2, 3])
def test_a_turned_quad_is_cut_reading_left_to_right(quarter_turns: int) -> None:
    page = smooth(80, 60)
    crop = cut(page, turn(rectangle(10, 20, 50, 45), quarter_turns))
    wanted = np.rot90(page[20:45, 10:50], quarter_turns)
    assert crop.shape == wanted.shape
    assert np.abs(crop.astype(int) - wanted)[1:-1, 1:-1].max() < 16


@pytest.mark.parametrize("degrees", [-30, -7, 5, 20])
def test_a_tilted_line_comes_out_level(degrees: float) -> None:
    line = line_crop("Total 128", scale=2.0)
    height, width = line.shape[:2]
    box = tilted_box(width, height, degrees, (250, 250))
    matrix = cv2.getPerspectiveTransform(
        np.array(rectangle(0, 0, width, height), np.float32), np.array(box, np.float32)
    )
    page = np.asarray(
        cv2.warpPerspective(line, matrix, (500, 500), borderValue=(255, 255, 255)), dtype=np.uint8
    )
    crop = cut(page, box)
    assert crop.shape == line.shape
    assert np.abs(crop.astype(float) - line).mean() < 6


def test_outside_the_page_its_border_goes_on() -> None:
    page = blank(40, 30)
    page[:, :20] = (10, 20, 30)
    crop = cut(page, rectangle(-15, -5, 10, 40))
    assert crop.shape == (45, 25, 3)
    assert (crop == (10, 20, 30)).all()


corner = st.floats(-20, 120)


@given(st.tuples(corner, corner, corner, corner))
def test_any_box_gives_a_picture(box: tuple[float, float, float, float]) -> None:
    x0, x1 = sorted(box[:2])
    y0, y1 = sorted(box[2:])
    crop = cut(blank(100, 100), rectangle(x0, y0, x1, y1))
    assert crop.shape[0] >= 1 and crop.shape[1] >= 1 and crop.shape[2] == 3


@pytest.mark.parametrize(
    "quad",
    [
        rectangle(10, 10, 10, 10),
        rectangle(100, 10, 100, 20),
        rectangle(0, 100, 50, 100),
        tilted_box(40, 0, 20, (50, 50)),
    ],
)
def test_a_box_without_area_gives_at_least_one_pixel(quad: Quad) -> None:
    crop = cut(blank(100, 100), quad)
    assert crop.shape[0] >= 1 and crop.shape[1] >= 1


@given(st.integers(1, 90), st.integers(1, 200), st.integers(1, 64))
def test_scaling_keeps_the_aspect(height: int, width: int, wanted: int) -> None:
    scaled = scale_to_height(blank(width, height), wanted)
    assert scaled.shape == (wanted, max(1, round(width * wanted / height)), 3)
    assert (scaled == 255).all()


@given(st.integers(1, 90), st.integers(1, 200))
def test_shrinking_never_enlarges(height: int, width: int) -> None:
    crop = blank(width, height)
    shrunk = shrink_to_height(crop, 48)
    assert shrunk is crop if height <= 48 else shrunk.shape[0] == 48


def test_a_half_turn_is_the_crop_upside_down() -> None:
    crop = noise(7, 5)
    turned = half_turn(crop)
    assert np.array_equal(turned, np.rot90(crop, 2))
    assert turned.flags.c_contiguous
    assert np.array_equal(half_turn(turned), crop)
