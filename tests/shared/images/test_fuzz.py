"""Damaged files give pages or errors of the table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.errors import ERROR_CODES, TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

LIMITS = Limits(max_pixels=1_000_000, max_pages=20)


def picture() -> Image.Image:
    pixels = np.full((24, 32, 3), 255, np.uint8)
    pixels[6:12, 4:28] = 0
    pixels[::5, ::3] = np.random.default_rng(2).integers(0, 256, pixels[::5, ::3].shape)
    return Image.fromarray(pixels)


SEEDS: dict[str, tuple[str, str, dict[str, object]]] = {
    "jpeg": ("RGB", "JPEG", {}),
    "progressive": ("RGB", "JPEG", {"progressive": True}),
    "cmyk": ("CMYK", "JPEG", {}),
    "png": ("RGB", "PNG", {}),
    "png_alpha": ("LA", "PNG", {}),
    "png_wide": ("I;16", "PNG", {}),
    "palette": ("P", "PNG", {"transparency": 3}),
    "webp": ("RGBA", "WEBP", {}),
    "bmp": ("P", "BMP", {}),
    "pnm": ("RGB", "PPM", {}),
    "gif": ("P", "GIF", {}),
    "tiff": ("RGB", "TIFF", {"save_all": True, "append_images": [picture().convert("1")]}),
    "tiff_lzw": ("L", "TIFF", {"compression": "tiff_lzw"}),
    "fax": ("1", "TIFF", {"compression": "group4"}),
    "jp2": ("RGB", "JPEG2000", {}),
    "pdf": ("RGB", "PDF", {"save_all": True, "append_images": [picture().convert("1")]}),
}

damages = st.one_of(
    st.tuples(st.just("cut"), st.floats(0, 1), st.just(0)),
    st.tuples(st.just("set"), st.floats(0, 1), st.integers(0, 255)),
    st.tuples(st.just("set"), st.floats(0, 0.2), st.sampled_from([0, 1, 127, 128, 255])),
    st.tuples(st.just("drop"), st.floats(0, 1), st.integers(1, 40)),
)


def damaged(data: bytes, damage: list[tuple[str, float, int]]) -> bytes:
    out = bytearray(data)
    for what, where, value in damage:
        place = int(where * (len(out) - 1)) if out else 0
        if what == "cut":
            del out[place:]
        elif what == "drop":
            del out[place : place + value]
        elif out:
            out[place] = value
    return bytes(out)


@pytest.fixture(scope="module", params=SEEDS)
def seed(request: pytest.FixtureRequest, encode: Callable[..., bytes]) -> bytes:
    mode, kind, options = SEEDS[request.param]
    if mode == "I;16":
        return encode(np.asarray(picture().convert("L")).astype(np.uint16) * 257, kind, **options)
    return encode(picture().convert(mode), kind, **options)


@settings(max_examples=100, deadline=None)
@given(damage=st.lists(damages, min_size=1, max_size=4))
def test_damaged_files(seed: bytes, damage: list[tuple[str, float, int]]) -> None:
    data = damaged(seed, damage)
    try:
        page_count(data, LIMITS)
        for index, page in enumerate(decode_pages(data, limits=LIMITS, text_layer=True)):
            assert page.index == index
            if isinstance(page, PageFailure):
                assert page.failure.code in ("bad_image", "too_large")
            else:
                assert isinstance(page, PageImage)
                assert page.pixels.dtype == np.uint8
                assert page.pixels.flags.c_contiguous
                assert LIMITS.allow_size(page.width, page.height)
    except TierocrError as error:
        assert error.code in ERROR_CODES
