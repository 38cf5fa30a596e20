"""Real odd files. `TIEROCR_DATA` names a folder that contains `oddfiles/`; skipped without it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from tierocr.shared.document import PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

DATA = os.environ.get("TIEROCR_DATA", "")
FOLDER = Path(DATA) / "oddfiles" / "images"

pytestmark = pytest.mark.skipif(
    not DATA or not FOLDER.is_dir(), reason="TIEROCR_DATA is unset or holds no oddfiles/"
)

REFUSED = {
    "ocrmypdf_invalid.pdf": "bad_image",
    "paperless_password-is-test.pdf": "encrypted",
    "turbo_garbage_random.bin": "bad_image",
    "turbo_password_protected.pdf": "encrypted",
}
PAGES = {
    "derived_mixed_3pages.tif": 3,
    "docling_2206.01062.tif": 2,
    "ocrmypdf_cardinal.pdf": 4,
    "paperless_multi-page-images-alpha.tiff": 3,
    "paperless_multi-page-images.pdf": 3,
    "paperless_multi-page-mixed.pdf": 6,
    "paperless_rotated.pdf": 4,
    "turbo_pdf_500_pages.pdf": 500,
}


def pages_of(name: str) -> Iterator[PageImage | PageFailure]:
    return decode_pages((FOLDER / name).read_bytes(), limits=Limits())


def first_page(name: str) -> PageImage:
    page = next(pages_of(name))
    assert isinstance(page, PageImage), page
    return page


def difference(left: Pixels, right: Pixels) -> float:
    return float(np.abs(left.astype(int) - right).mean())


def test_every_file_is_read_or_refused_as_expected() -> None:
    names = sorted(path.name for path in FOLDER.iterdir())
    assert names
    for name in names:
        if name in REFUSED:
            with pytest.raises(TierocrError) as caught:
                list(pages_of(name))
            assert caught.value.code == REFUSED[name], name
            continue
        pages = pages_of(name)
        for index in range(min(PAGES.get(name, 1), 6)):
            page = next(pages)
            assert isinstance(page, PageImage), (name, page)
            assert page.index == index, name
            del page
        if PAGES.get(name, 1) <= 6:
            assert next(pages, None) is None, name


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_counted_without_decoding(name: str) -> None:
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is not in this data folder")
    assert page_count(path.read_bytes(), Limits()) == PAGES[name]


def test_all_exif_orientations_give_the_same_picture() -> None:
    upright = first_page("derived_ticket_exif3.jpg").pixels
    for orientation in (2, 4, 5, 6, 7, 8):
        page = first_page(f"derived_ticket_exif{orientation}.jpg")
        assert difference(page.pixels, upright) < 6, orientation


def test_one_picture_in_many_encodings_is_one_picture() -> None:
    reference = first_page("derived_ticket_png_named.jpg").pixels
    for name in ("cmyk.jpg", "progressive.jpg", "pal32.png", "gif_2frames.gif"):
        name = f"derived_{name}" if name.startswith("gif") else f"derived_ticket_{name}"
        assert difference(first_page(name).pixels, reference) < 12, name


def test_sixteen_bit_grey_is_mostly_white_paper() -> None:
    assert first_page("derived_letter_16bit.png").pixels.mean() > 235


def test_white_text_on_nothing_stands_on_black() -> None:
    pixels = first_page("rapid_white_font_color_transparent.png").pixels
    assert np.median(pixels) == 0
    assert pixels.max() == 255


def test_a_cut_jpeg_gives_its_upper_part() -> None:
    page = first_page("derived_ticket_truncated60.jpg")
    assert page.warnings == ("truncated",)


def test_a_wrong_resolution_is_not_believed() -> None:
    assert first_page("derived_letter_g4.tif").dpi == 200
    assert first_page("derived_letter_g4_dpi72wrong.tif").dpi is None


def test_non_square_pixels_make_a_circle() -> None:
    dark = first_page("ocrmypdf_aspect.pdf").pixels.min(axis=2) < 128
    _, _, parts, _ = cv2.connectedComponentsWithStats(dark.astype(np.uint8))
    _, _, width, height, _ = max(parts[1:].tolist(), key=lambda part: part[2])
    assert width / height == pytest.approx(1, abs=0.02)


def test_nine_thousand_pixels_squared() -> None:
    page = first_page("ocrmypdf_enormous.pdf")
    assert page.pixels.shape == (9000, 9000, 3)
    assert page.dpi == 300


def test_a_rotated_page_is_upright() -> None:
    page = first_page("unst_rotated-page-90.pdf")
    assert page.orientation == 90
    assert page.width > page.height
