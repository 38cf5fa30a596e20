from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.images.orientation import (
    make_upright,
    orientation_degrees,
    swaps_sides,
    upright_to_stored,
)

ORIENTATIONS = range(1, 9)
# What has to be done to stored pixels, written out once more in other words than the code's.
BY_HAND: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a[::-1], 1),
    8: lambda a: np.rot90(a, 1),
}


def stored_colours(page: PageImage, stored: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Look up, for each upright pixel centre, the stored pixel that `transform` leads to."""
    ys, xs = np.mgrid[: page.height, : page.width] + 0.5
    points = np.stack([xs, ys, np.ones_like(xs)], axis=-1) @ np.array(page.transform).T
    columns, rows = np.floor(points[..., 0]).astype(int), np.floor(points[..., 1]).astype(int)
    return np.asarray(stored[rows, columns], dtype=np.uint8)


def exif(orientation: int) -> Image.Exif:
    block = Image.Exif()
    block[0x0112] = orientation
    return block


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG", "TIFF"])
def test_applied_once_and_led_back(
    kind: str,
    orientation: int,
    card: NDArray[np.uint8],
    encode: Callable[..., bytes],
    decode_one: Callable[..., PageImage],
) -> None:
    options: dict[str, object] = {"exif": exif(orientation)}
    if kind == "JPEG":
        options |= {"quality": 100, "subsampling": 0}
    if kind == "WEBP":
        options |= {"lossless": True}
    if kind == "TIFF":
        options = {"tiffinfo": {274: orientation}}
    page = decode_one(encode(card, kind, **options))
    stored = card[:, :, ::-1]
    expected = BY_HAND[orientation](stored)
    assert page.pixels.shape == expected.shape
    assert np.abs(page.pixels.astype(int) - expected).max() <= 3
    assert np.abs(page.pixels.astype(int) - stored_colours(page, stored)).max() <= 3
    assert page.orientation == orientation_degrees(orientation)


@pytest.mark.parametrize(("orientation", "degrees"), [(1, 0), (6, 90), (3, 180), (8, 270)])
def test_degrees_are_clockwise(orientation: int, degrees: int, card: NDArray[np.uint8]) -> None:
    assert orientation_degrees(orientation) == degrees
    turned = np.rot90(card, -degrees // 90)
    assert np.array_equal(make_upright(card, orientation), turned)


@pytest.mark.parametrize("orientation", [0, 9, 77])
def test_an_orientation_that_does_not_exist_is_upright(
    orientation: int,
    card: NDArray[np.uint8],
    encode: Callable[..., bytes],
    decode_one: Callable[..., PageImage],
) -> None:
    page = decode_one(encode(card, "PNG", exif=exif(orientation)))
    assert page.orientation == 0
    assert np.array_equal(page.pixels, card[:, :, ::-1])


def test_a_damaged_exif_block_is_ignored(
    card: NDArray[np.uint8], encode: Callable[..., bytes], decode_one: Callable[..., PageImage]
) -> None:
    page = decode_one(encode(card, "JPEG", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\x7f"))
    assert page.pixels.shape == card.shape
    assert page.orientation == 0


@settings(max_examples=60, deadline=None)
@given(
    orientation=st.sampled_from(ORIENTATIONS),
    size=st.tuples(st.integers(1, 500), st.integers(1, 500)),
    scale=st.tuples(st.floats(0.1, 4.0), st.floats(0.1, 4.0)),
)
def test_the_upright_corners_are_the_stored_corners(
    orientation: int, size: tuple[int, int], scale: tuple[float, float]
) -> None:
    width, height = size
    upright = (height, width) if swaps_sides(orientation) else (width, height)
    across, down = upright[0] / scale[0], upright[1] / scale[1]
    corners = np.array([[0, 0, 1], [across, 0, 1], [across, down, 1], [0, down, 1]])
    matrix = np.array(upright_to_stored(orientation, width, height, scale))
    found = {(round(x, 6), round(y, 6)) for x, y, _ in (corners @ matrix.T).tolist()}
    assert {(abs(x), abs(y)) for x, y in found} == {
        (0, 0),
        (width, 0),
        (0, height),
        (width, height),
    }
