"""What leaves the device: size, content, direction."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.lines import read_line
from tierocr.edge.crops import MARGIN, MAX_HEIGHT, encode_line
from tierocr.shared.document import Pixels, Quad
from tierocr.shared.geometry import as_quad, grow, quad_size, rectangle, turn

WEBP_SIDE = 16_383


def decoded(image: bytes) -> Pixels:
    pixels = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR)
    assert pixels is not None
    return pixels.astype(np.uint8)


def white(width: int, height: int) -> Pixels:
    return np.full((height, width, 3), 255, dtype=np.uint8)


def tilted(x: float, y: float, along: float, across: float, degrees: float) -> Quad:
    """A rectangle around (x, y), turned clockwise."""
    a = np.radians(degrees)
    flat = rectangle(-along / 2, -across / 2, along / 2, across / 2)
    matrix = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
    return as_quad(np.asarray(flat) @ matrix + (x, y))


def test_a_small_line_keeps_the_pages_own_pixels() -> None:
    crop = encode_line(white(400, 300), read_line(quad=rectangle(50, 100, 250, 112)))
    height, width = decoded(crop.image).shape[:2]
    assert height == 14  # 12 and a tenth of it on either side
    assert width == 202
    assert crop.margin == pytest.approx(1.2)


def test_a_large_line_is_shrunk_to_what_can_be_seen() -> None:
    crop = encode_line(white(3000, 900), read_line(quad=rectangle(100, 100, 2900, 600)))
    height, width = decoded(crop.image).shape[:2]
    assert height == MAX_HEIGHT
    assert width == pytest.approx(MAX_HEIGHT * (2800 + 100) / (500 + 100), abs=2)
    assert crop.margin == pytest.approx(MAX_HEIGHT * 50 / 600, rel=0.01)


@given(
    st.floats(0, 400),
    st.floats(0, 300),
    st.floats(4, 500),
    st.floats(3, 250),
    st.floats(-180, 180),
)
def test_never_enlarged_never_too_high_always_decodable(
    x: float, y: float, along: float, across: float, degrees: float
) -> None:
    line = read_line(quad=tilted(x, y, along, across, degrees))
    crop = encode_line(white(400, 300), line)
    height, width = decoded(crop.image).shape[:2]
    full_along, full_across = quad_size(crop.quad)
    assert height <= min(MAX_HEIGHT, full_across + 1.5)
    assert width <= full_along + 1.5
    assert crop.quad == grow(line.region.quad, *2 * [MARGIN * quad_size(line.region.quad)[1]])
    assert 0 < crop.margin <= MAX_HEIGHT * MARGIN


def test_a_line_longer_than_the_format_allows_can_still_be_sent() -> None:
    pixels = white(20_000, 100)
    crop = encode_line(pixels, read_line(quad=rectangle(100, 20, 19_900, 70)))
    assert max(decoded(crop.image).shape) <= WEBP_SIDE


def test_a_line_at_the_edge_of_the_page() -> None:
    pixels = white(200, 100)
    pixels[:, :20] = 0
    crop = encode_line(pixels, read_line(quad=rectangle(0, 0, 200, 100)))
    image = decoded(crop.image)
    assert image[:, :8].mean() < 40 and image[:, -20:].mean() > 215


@pytest.mark.parametrize("degrees", [0, 7, -30, 90, 135, 180, -90])
def test_it_reads_from_left_to_right(degrees: float) -> None:
    """Dark to the left, light to the right, a stripe under it, however the line lies."""
    size = 400
    upright = white(size, size)
    cv2.rectangle(upright, (100, 180), (200, 220), (0, 0, 0), -1)
    cv2.rectangle(upright, (100, 212), (300, 220), (0, 0, 255), -1)
    centre = (size / 2, size / 2)
    matrix = cv2.getRotationMatrix2D(centre, -degrees, 1.0)
    page = cv2.warpAffine(upright, matrix, (size, size), borderValue=(255, 255, 255))
    line = read_line(quad=tilted(*centre, 200, 40, degrees))
    image = decoded(encode_line(page.astype(np.uint8), line).image).astype(int)
    height, width = image.shape[:2]
    assert width > 4 * height
    upper = image[height // 4 : height // 2]
    assert upper[:, width // 8 : width * 3 // 8].mean() < 60
    assert upper[:, width * 5 // 8 : width * 7 // 8].mean() > 200
    lower = image[height * 13 // 16 : height * 14 // 16, width // 8 : width * 7 // 8]
    assert lower[:, :, 2].mean() > lower[:, :, 0].mean() + 60


def test_a_column_is_sent_lying_down() -> None:
    page = white(200, 400)
    page[50:150, 80:120] = 0
    column = turn(rectangle(80, 50, 120, 350), 1)  # read downwards
    image = decoded(encode_line(page, read_line(quad=column)).image)
    height, width = image.shape[:2]
    assert width > 5 * height
    assert image[:, : width // 4].mean() < 60 and image[:, width // 2 :].mean() > 200
