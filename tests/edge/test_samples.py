from __future__ import annotations

import io
import re

import pytest
from PIL import Image

from tierocr.edge.samples import load_truth, sample_pages

NAMES = [page.name for page in sample_pages()]


def _sizes(name: str) -> list[tuple[int, int]]:
    data = next(page for page in sample_pages() if page.name == name).read_bytes()
    if name.endswith(".pdf"):
        boxes = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", data)
        return [(round(float(w) * 200 / 72), round(float(h) * 200 / 72)) for w, h in boxes]
    return [Image.open(io.BytesIO(data)).size]


def test_there_are_samples_of_every_kind() -> None:
    assert len(NAMES) >= 6
    assert {name.rsplit(".", 1)[1] for name in NAMES} == {"jpg", "pdf", "png"}


def test_the_samples_stay_small() -> None:
    assert sum(len(page.read_bytes()) for page in sample_pages()) < 1_600_000


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_fits_its_image(name: str) -> None:
    truth = load_truth(name)
    assert truth.image == name
    assert [(page.width, page.height) for page in truth.pages] == _sizes(name)
    for page in truth.pages:
        assert len(page.lines) > 10
        for line in page.lines:
            assert line.text and line.text == line.text.strip()
            for x, y in line.quad:
                assert 0 <= x <= page.width and 0 <= y <= page.height


@pytest.mark.parametrize("name", NAMES)
def test_the_corners_go_clockwise(name: str) -> None:
    for page in load_truth(name).pages:
        for line in page.lines:
            following = (*line.quad[1:], line.quad[0])
            area = sum(
                x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(line.quad, following, strict=True)
            )
            assert area > 0


def test_the_rotated_photo_reads_downwards() -> None:
    lines = load_truth("receipt_photo_rotated.jpg").pages[0].lines
    assert all(line.quad[1][1] > line.quad[0][1] for line in lines)


def test_the_report_has_two_pages() -> None:
    assert len(load_truth("report_two_pages.pdf").pages) == 2
