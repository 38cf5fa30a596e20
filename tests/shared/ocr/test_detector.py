from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.networks import Broken, InkFinder
from tests.fakes.rendered import blank
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import bounds
from tierocr.shared.ocr.detector import LARGEST_SCALE, SMALL_TEXT, Detector

FACTS = DetectorFacts(side=640, unclip_ratio=0.0)


def with_lines(
    width: int, height: int, text: int, count: int = 4, start: int = 20, end: int = 0
) -> Pixels:
    """A page with black bars for lines."""
    page = blank(width, height)
    for i in range(count):
        page[(i + 1) * 3 * text : (i + 1) * 3 * text + text, start : end or width - 20] = 0
    return page


def detector(side: int = 640) -> tuple[Detector, InkFinder]:
    network = InkFinder()
    return Detector(network, DetectorFacts(side=side, unclip_ratio=0.0)), network


def test_a_page_that_fits_is_looked_at_once_in_its_own_size() -> None:
    finder, network = detector()
    found = finder.find(with_lines(500, 300, 20))
    assert network.sizes == [(512, 320)]
    assert (found.scale, len(found.regions), found.warnings) == (1.0, 4, ())
    tops = sorted(bounds(r.quad)[1] for r in found.regions)
    assert tops == pytest.approx([60, 120, 180, 240], abs=8)


def test_a_large_page_is_shrunk_to_the_network() -> None:
    finder, network = detector()
    found = finder.find(with_lines(1280, 900, 40))
    assert network.sizes == [(640, 512)]
    assert found.scale == 0.5
    boxes = [bounds(r.quad) for r in found.regions]
    assert all(b[0] == pytest.approx(20, abs=15) for b in boxes)
    assert all(b[2] == pytest.approx(1260, abs=15) for b in boxes)


def test_small_text_is_looked_at_again_in_tiles_and_stands_once() -> None:
    finder, network = detector()
    found = finder.find(with_lines(1280, 1000, 12, count=20))
    assert len(network.sizes) > 2
    assert all(max(size) <= 640 for size in network.sizes)
    assert found.scale > 0.8
    assert len(found.regions) == 20
    for region in found.regions:
        x0, _, x1, _ = bounds(region.quad)
        assert (x0, x1) == pytest.approx((20, 1260), abs=8)
    assert found.warnings == ()


def test_text_too_small_to_read_is_said() -> None:
    finder, _ = detector()
    page = with_lines(600, 200, 4, count=10)
    found = finder.find(page)
    assert found.scale == LARGEST_SCALE
    (warning,) = found.warnings
    assert "small text" in warning and f"{SMALL_TEXT:.0f}" not in warning


def test_a_blank_page_is_looked_at_once() -> None:
    finder, network = detector()
    found = finder.find(blank(3000, 2000))
    assert found.regions == [] and found.warnings == ()
    assert len(network.sizes) == 1


def test_a_strip_is_not_shrunk_to_nothing() -> None:
    finder, network = detector()
    found = finder.find(with_lines(300, 6000, 20, count=90))
    assert found.scale >= 0.5
    assert len(found.regions) == 90
    assert all(max(size) <= 640 for size in network.sizes)


def test_one_line_through_a_whole_strip_is_one_region() -> None:
    finder, _ = detector()
    page = blank(6000, 90)
    page[30:60, 40:5960] = 0
    (region,) = finder.find(page).regions
    assert bounds(region.quad) == pytest.approx((40, 30, 5960, 60), abs=12)


def test_the_work_on_a_huge_page_is_bounded() -> None:
    finder, network = detector(side=128)
    finder.find(with_lines(3000, 3000, 8, count=50))
    assert len(network.sizes) < 120


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 900), st.integers(1, 900))
def test_a_page_of_any_size_can_be_looked_at(width: int, height: int) -> None:
    finder, _ = detector(side=320)
    page = np.full((height, width, 3), 255, dtype=np.uint8)
    page[height // 4 : height // 2, width // 8 : width - width // 8] = 0
    for region in finder.find(page).regions:
        x0, y0, x1, y1 = bounds(region.quad)
        assert 0 <= x0 <= x1 <= width and 0 <= y0 <= y1 <= height


@pytest.mark.parametrize("height", [1804, 3463, 3908, 1696])
def test_no_size_is_special(height: int) -> None:
    """Sizes at which side / (side / height) is not height in floating point."""
    finder, network = detector(side=1280)
    page = blank(400, height)
    page[100:140, 50:350] = 0
    assert len(finder.find(page).regions) == 1
    page = blank(height, height)
    page[100:160, 50:350] = 0
    network.sizes.clear()
    assert len(finder.find(page).regions) == 1
    assert len(network.sizes) == 1


def test_a_failing_engine_is_told() -> None:
    with pytest.raises(TierocrError) as caught:
        Detector(Broken(), FACTS).find(with_lines(300, 300, 20))
    assert caught.value.code == "internal"
