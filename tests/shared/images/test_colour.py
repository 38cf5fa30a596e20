from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import PageImage

Encode = Callable[..., bytes]
DecodeOne = Callable[..., PageImage]

PATCHES = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (128, 128, 128))


def patches() -> Image.Image:
    return Image.fromarray(np.repeat(np.array([PATCHES], np.uint8), 16, axis=1).repeat(16, axis=0))


def centres(page: PageImage) -> NDArray[np.int64]:
    """The six patch colours as RGB."""
    return page.pixels[8, 8::16, ::-1].astype(np.int64)


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("JPEG", "RGB", {"subsampling": 0, "quality": 95}),
        ("JPEG", "RGB", {"progressive": True, "subsampling": 0, "quality": 95}),
        ("JPEG", "CMYK", {"subsampling": 0, "quality": 95}),
        ("PNG", "RGB", {}),
        ("PNG", "RGBA", {}),
        ("PNG", "P", {}),
        ("WEBP", "RGB", {"lossless": True}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("BMP", "RGB", {}),
        ("BMP", "P", {}),
        ("PPM", "RGB", {}),
        ("GIF", "P", {}),
        ("TIFF", "RGB", {}),
        ("TIFF", "CMYK", {}),
        ("TIFF", "P", {}),
        ("TIFF", "RGB", {"compression": "tiff_lzw"}),
        ("JPEG2000", "RGB", {"irreversible": False}),
    ],
)
def test_colours_survive(
    kind: str, mode: str, options: dict[str, object], encode: Encode, decode_one: DecodeOne
) -> None:
    picture = patches().quantize(8) if mode == "P" else patches().convert(mode)
    page = decode_one(encode(picture, kind, **options))
    assert np.abs(centres(page) - np.array(PATCHES)).max() <= 8


@pytest.mark.parametrize("kind", ["PNG", "PPM", "TIFF", "BMP"])
def test_one_bit(kind: str, encode: Encode, decode_one: DecodeOne) -> None:
    bits = np.random.default_rng(3).integers(0, 2, (21, 37)).astype(bool)
    page = decode_one(encode(Image.fromarray(bits), kind))
    assert np.array_equal(page.pixels[:, :, 0], bits * np.uint8(255))


def test_fax_compressed_tiff(encode: Encode, decode_one: DecodeOne) -> None:
    bits = np.random.default_rng(3).integers(0, 2, (21, 37)).astype(bool)
    page = decode_one(encode(Image.fromarray(bits), "TIFF", compression="group4"))
    assert np.array_equal(page.pixels[:, :, 1], bits * np.uint8(255))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_sixteen_bit_grey_is_scaled_not_clipped(
    kind: str, encode: Encode, decode_one: DecodeOne
) -> None:
    ramp = np.linspace(0, 65535, 256).round().astype(np.uint16)
    page = decode_one(encode(np.tile(ramp, (4, 1)), kind))
    assert np.abs(page.pixels[2, :, 0].astype(int) - np.arange(256)).max() <= 1


@pytest.mark.parametrize(("top", "scale"), [(255, 255), (4095, 4095), (900, 1023)])
def test_few_bits_in_a_wide_file_are_not_left_black(
    top: int, scale: int, encode: Encode, decode_one: DecodeOne
) -> None:
    page = decode_one(encode(np.array([[0, top // 2, top]], np.uint16), "PNG"))
    expected = [0, (top // 2) * 255 / scale, top * 255 / scale]
    assert np.abs(page.pixels[0, :, 0] - np.array(expected)).max() <= 1


def test_sixteen_bit_grey_with_white_at_zero(encode: Encode, decode_one: DecodeOne) -> None:
    grey = np.array([[0, 65535, 0, 65535]], np.uint16)
    data = encode(grey, "TIFF", tiffinfo={262: 0})
    assert decode_one(data).pixels[0, :, 0].tolist() == [255, 0, 255, 0]


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0.0, 0.5, 1.0]], np.float32),
        np.array([[0.0, 127.5, 255.0]], np.float32),
        np.array([[-3.0, 0.0, 3.0]], np.float32),
        np.array([[-70000, 0, 70000]], np.int32),
    ],
)
def test_float_and_integer_tiff(
    values: NDArray[np.generic], encode: Encode, decode_one: DecodeOne
) -> None:
    page = decode_one(encode(values, "TIFF"))
    assert np.abs(page.pixels[0, :, 2].astype(int) - [0, 128, 255]).max() <= 1


def test_values_that_are_no_numbers(encode: Encode, decode_one: DecodeOne) -> None:
    values = np.array([[np.nan, np.inf, 0.0, 1.0]], np.float32)
    assert decode_one(encode(values, "TIFF")).pixels[0, :, 0].tolist() == [0, 255, 0, 255]


def text_on_nothing(*greys: int) -> NDArray[np.uint8]:
    """(40, 40 per grey, 4) RGBA: bars of opaque text colours on full transparency."""
    picture = np.zeros((40, 40 * len(greys), 4), np.uint8)
    for index, grey in enumerate(greys):
        picture[10:30, 40 * index + 10 : 40 * index + 30] = (grey, grey, grey, 255)
        # What is invisible has the other colour: it must not be looked at.
        picture[:10, 40 * index : 40 * index + 40, :3] = 255 - grey
    return picture


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("greys", "background"), [((0,), 255), ((60,), 255), ((255,), 0), ((220,), 0), ((0, 255), 128)]
)
def test_transparency_hides_no_text(
    kind: str, greys: tuple[int, ...], background: int, encode: Encode, decode_one: DecodeOne
) -> None:
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    page = decode_one(encode(text_on_nothing(*greys), kind, **options))
    assert page.pixels[2, 2].tolist() == [background] * 3
    for index, grey in enumerate(greys):
        assert page.pixels[20, 40 * index + 20].tolist() == [grey] * 3


def test_half_transparent_pixels_are_mixed(encode: Encode, decode_one: DecodeOne) -> None:
    picture = text_on_nothing(0)
    picture[20, 20] = (0, 0, 0, 128)
    assert decode_one(encode(picture, "PNG")).pixels[20, 20].tolist() == [127] * 3


def test_an_opaque_page_keeps_its_colours(encode: Encode, decode_one: DecodeOne) -> None:
    page = decode_one(encode(patches().convert("RGBA"), "PNG"))
    assert np.array_equal(centres(page), np.array(PATCHES))


def test_grey_with_alpha(encode: Encode, decode_one: DecodeOne) -> None:
    picture = Image.fromarray(text_on_nothing(255)).convert("LA")
    page = decode_one(encode(picture, "PNG"))
    assert page.pixels[2, 2].tolist() == [0] * 3
    assert page.pixels[20, 20].tolist() == [255] * 3


@pytest.mark.parametrize("kind", ["PNG", "GIF"])
def test_palette_with_transparency(kind: str, encode: Encode, decode_one: DecodeOne) -> None:
    picture = Image.new("P", (40, 40), 0)
    picture.putpalette([0, 0, 0, 255, 255, 255, 0, 0, 0])
    picture.paste(1, (10, 10, 30, 30))
    page = decode_one(encode(picture, kind, transparency=0))
    assert page.pixels[2, 2].tolist() == [0] * 3
    assert page.pixels[20, 20].tolist() == [255] * 3
    picture.putpalette([255, 255, 255, 0, 0, 0, 0, 0, 0])
    page = decode_one(encode(picture, kind, transparency=0))
    assert page.pixels[2, 2].tolist() == [255] * 3
    assert page.pixels[20, 20].tolist() == [0] * 3


def test_lab_tiff_keeps_its_lightness(encode: Encode, decode_one: DecodeOne) -> None:
    lab = Image.merge("LAB", [Image.linear_gradient("L"), *[Image.new("L", (256, 256), 128)] * 2])
    page = decode_one(encode(lab, "TIFF"))
    assert np.array_equal(page.pixels[:, 0, 0], np.arange(256))


def test_large_pages_are_converted_in_bands_without_seams(
    encode: Encode, decode_one: DecodeOne
) -> None:
    ramp = np.arange(3000, dtype=np.uint32)[:, None] * 21 + np.zeros((1, 3000), np.uint32)
    page = decode_one(encode(ramp.astype(np.uint16), "TIFF"))
    expected = np.rint(ramp[:, 0] * 255 / 65535)
    assert np.array_equal(page.pixels[:, 1500, 0], expected.astype(np.uint8))
