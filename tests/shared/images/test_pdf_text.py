from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tierocr.shared.document import PageImage, TextRun
from tierocr.shared.images import Limits, decode_pages

Bytes = Callable[..., bytes]

TWO_LINES = b"BT /F1 12 Tf 20 150 Td (first line) Tj 0 -20 Td (second) Tj ET"


def read(data: bytes) -> PageImage:
    (page,) = decode_pages(data, limits=Limits(pdf_dpi=144), text_layer=True)
    assert isinstance(page, PageImage)
    return page


def ink_inside(page: PageImage, run: TextRun) -> float:
    """The share of the page's dark pixels that lie in the box around the run's quad."""
    ys, xs = np.nonzero(page.pixels.min(axis=2) < 128)
    corners = np.array(run.quad)
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    inside = (xs + 0.5 > left) & (xs + 0.5 < right) & (ys + 0.5 > top) & (ys + 0.5 < bottom)
    return float(inside.mean())


def test_is_left_empty_unless_asked_for(pdf_page: Bytes) -> None:
    (page,) = decode_pages(pdf_page(TWO_LINES), limits=Limits())
    assert isinstance(page, PageImage)
    assert page.text_layer == ()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_lines_lie_on_their_ink(rotation: int, pdf_page: Bytes) -> None:
    page = read(
        pdf_page(
            b"BT /F1 12 Tf 60 130 Td (one line) Tj ET",
            b"/MediaBox [0 0 300 200] /CropBox [40 20 280 180] /Rotate %d" % rotation,
        )
    )
    (run,) = page.text_layer
    assert run.text == "one line"
    assert ink_inside(page, run) == 1
    top_left, top_right, _, bottom_left = np.array(run.quad)
    along, down = top_right - top_left, bottom_left - top_left
    directions = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}
    assert along / np.linalg.norm(along) == pytest.approx(directions[rotation], abs=1e-3)
    assert np.linalg.norm(down) == pytest.approx(14 * 2, abs=4)  # 12 points at 144 dpi
    assert np.cross([*along, 0], [*down, 0])[2] > 0  # down is to the right of along: not mirrored


def test_lines_are_told_apart(pdf_page: Bytes) -> None:
    page = read(pdf_page(TWO_LINES))
    assert [run.text for run in page.text_layer] == ["first line", "second"]
    assert page.text_layer[0].quad[2][1] <= page.text_layer[1].quad[0][1]


def test_a_divided_word_stays_on_two_lines(pdf_page: Bytes) -> None:
    page = read(pdf_page(b"BT /F1 12 Tf 20 150 Td (an exam-) Tj 0 -14 Td (ple line) Tj ET"))
    assert [run.text for run in page.text_layer] == ["an exam-", "ple line"]


def test_columns_are_told_apart(pdf_page: Bytes) -> None:
    page = read(pdf_page(b"BT /F1 12 Tf 20 150 Td (left) Tj 150 0 Td (right) Tj ET"))
    assert [run.text for run in page.text_layer] == ["left", "right"]


def test_text_that_runs_upwards(pdf_page: Bytes) -> None:
    page = read(pdf_page(b"BT /F1 12 Tf 0 1 -1 0 100 50 Tm (upwards) Tj ET"))
    (run,) = page.text_layer
    assert run.text == "upwards"
    top_left, top_right = run.quad[:2]
    assert top_right[0] == pytest.approx(top_left[0], abs=0.5)
    assert top_right[1] < top_left[1]
    assert ink_inside(page, run) == 1


def test_text_outside_the_crop_box_is_left_out(pdf_page: Bytes) -> None:
    page = read(pdf_page(TWO_LINES, b"/MediaBox [0 0 300 200] /CropBox [0 140 300 200]"))
    assert [run.text for run in page.text_layer] == ["first line"]


def test_a_page_of_pictures_has_none(pdf_page: Bytes) -> None:
    assert read(pdf_page(b"0 g 10 10 50 50 re f")).text_layer == ()
