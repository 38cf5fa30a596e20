from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.images import Limits
from tierocr.shared.images.density import believable

Encode = Callable[..., bytes]
DecodeOne = Callable[..., PageImage]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "BMP"])
def test_taken_from_the_file(kind: str, encode: Encode, decode_one: DecodeOne) -> None:
    page = decode_one(encode(Image.new("L", (20, 10)), kind, dpi=(300, 300)))
    assert page.dpi == pytest.approx(300, abs=0.02)
    assert page.pixels.shape == (10, 20, 3)
    assert page.warnings == ()


def test_tiff_in_dots_per_centimetre(encode: Encode, decode_one: DecodeOne) -> None:
    data = encode(Image.new("L", (20, 10)), "TIFF", tiffinfo={282: 100.0, 283: 100.0, 296: 3})
    assert decode_one(data).dpi == 254


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("dpi", [(1, 1), (9600, 9600), (300, 60), (49, 49), (1201, 1201)])
def test_unbelievable_ones_are_not_believed(
    kind: str, dpi: tuple[int, int], encode: Encode, decode_one: DecodeOne
) -> None:
    page = decode_one(encode(Image.new("L", (20, 10)), kind, dpi=dpi))
    assert page.dpi is None
    assert page.pixels.shape == (10, 20, 3)


@pytest.mark.parametrize(
    "stated", [None, (), (300,), ("x", "y"), (None, None), (float("nan"), 300), (0, 0), 300]
)
def test_anything_a_file_may_say_is_survived(stated: object) -> None:
    assert believable(stated) is None


def test_fractions_are_believed() -> None:
    assert believable((Fraction(600, 2), Fraction(300, 1))) == (300.0, 300.0)


@pytest.mark.parametrize("kind", ["TIFF", "PNG"])
def test_fax_pixels_become_square(kind: str, encode: Encode, decode_one: DecodeOne) -> None:
    scan = np.full((98, 204), 255, np.uint8)
    scan[40:44, 100:108] = 0
    page = decode_one(encode(scan, kind, dpi=(204, 98)))
    assert page.pixels.shape == (204, 204, 3)
    assert page.dpi == pytest.approx(204, abs=0.02)
    assert any("square" in warning for warning in page.warnings)
    ys, xs = np.nonzero(page.pixels[:, :, 0] < 128)
    centre = np.array(page.transform) @ [xs.mean() + 0.5, ys.mean() + 0.5, 1]
    assert centre[:2] == pytest.approx([104, 42], abs=0.3)


def test_fax_pixels_on_a_turned_page(encode: Encode, decode_one: DecodeOne) -> None:
    scan = np.full((98, 204), 255, np.uint8)
    scan[40:44, 10:18] = 0
    page = decode_one(encode(scan, "TIFF", dpi=(204, 98), tiffinfo={274: 6}))
    assert page.pixels.shape == (204, 204, 3)
    ys, xs = np.nonzero(page.pixels[:, :, 0] < 128)
    assert ys.mean() < 20  # stored left is upright top
    centre = np.array(page.transform) @ [xs.mean() + 0.5, ys.mean() + 0.5, 1]
    assert centre[:2] == pytest.approx([14, 42], abs=0.3)


def test_a_difference_of_one_percent_is_left_alone(encode: Encode, decode_one: DecodeOne) -> None:
    page = decode_one(encode(Image.new("L", (20, 10)), "PNG", dpi=(200, 202)))
    assert page.pixels.shape == (10, 20, 3)


def test_square_pixels_stay_within_the_limits(encode: Encode, decode_one: DecodeOne) -> None:
    scan: NDArray[np.uint8] = np.zeros((98, 204), np.uint8)
    page = decode_one(encode(scan, "PNG", dpi=(204, 98)), Limits(max_pixels=204 * 98))
    assert page.pixels.shape == (98, 98, 3)
    assert page.dpi == pytest.approx(98, abs=0.02)
