from __future__ import annotations

import numpy as np
import pytest

from tierocr.cloud.forge.lines.pages import generate_pages

pytestmark = pytest.mark.usefixtures("installed_fonts")

CHARSET = [chr(code) for code in range(0x21, 0x7F)] + [chr(c) for c in range(0x4E00, 0xA000)]


def test_pages_follow_their_seed() -> None:
    (page,) = generate_pages(5, 1, charset=CHARSET)
    again, _ = generate_pages(5, 2, charset=CHARSET)
    assert np.array_equal(page.pixels, again.pixels)
    assert page.lines == again.lines


def test_every_page_is_full_of_lines_that_lie_on_it() -> None:
    for page in generate_pages(6, 6, charset=CHARSET):
        height, width = page.pixels.shape[:2]
        corners = np.array([line.quad for line in page.lines])
        assert 15 <= len(page.lines) <= 70
        assert all(line.text == line.text.strip() != "" for line in page.lines)
        middles = corners.mean(axis=1)
        assert (middles >= 0).all() and (middles <= (width, height)).all()


def test_the_truth_lies_on_the_ink() -> None:
    for page in generate_pages(8, 4, charset=CHARSET):
        paper = np.median(page.pixels.reshape(-1, 3), axis=0)
        contrast = np.abs(page.pixels - paper).mean(axis=2)
        inside = []
        for line in page.lines:
            xs, ys = zip(*line.quad, strict=True)
            left, right, top, bottom = (round(v) for v in (min(xs), max(xs), min(ys), max(ys)))
            inside.append(contrast[max(0, top) : bottom, max(0, left) : right].mean())
        assert np.median(inside) > 1.5 * contrast.mean()
