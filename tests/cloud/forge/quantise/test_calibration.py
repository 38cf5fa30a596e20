from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fakes.rendered import line_crop, page_of
from tierocr.cloud.forge.quantise.calibration import (
    Source,
    crops,
    line_tensors,
    page_tensors,
    pages,
)
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.recognition import RecogniserFacts


def test_lines_become_what_the_recogniser_sees() -> None:
    facts = RecogniserFacts(charset=("a",))
    crop = line_crop("TOTAL 48.50")
    long = np.zeros((10, 1000, 3), dtype=np.uint8)
    tensors = line_tensors([crop, long], facts)
    assert len(tensors) == 1  # a line that readers split is left out
    (tensor,) = tensors
    assert tensor.shape[:3] == (1, 3, 48) and tensor.shape[3] % facts.bucket == 0
    assert tensor.dtype == np.float32
    assert tensor.min() == pytest.approx(-1, abs=0.1) and tensor.max() == pytest.approx(1)


def test_pages_become_what_the_detector_sees() -> None:
    facts = DetectorFacts(side=320, bucket=64)
    (tensor,) = page_tensors([page_of(["TOTAL"], width=900, height=700)], facts)
    assert tensor.shape == (1, 3, 256, 320) and tensor.dtype == np.float32
    white = (1 - facts.mean[0]) / facts.std[0]
    assert tensor[0, 0].max() == pytest.approx(white, abs=1e-4)


def test_a_labelled_folder_is_taken_in_order(labelled: Path, printed: list[Pixels]) -> None:
    source = Source(folder=labelled, lines=3, pages=2)
    taken = list(crops(source))
    assert [c.shape for c in taken] == [c.shape for c in printed[:3]]
    assert len(list(pages(source))) == 2
    assert source.describe() == "folder lines, 3 lines, 2 pages at most"


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    for take in (crops, pages):
        with pytest.raises(TierocrError) as caught:
            list(take(Source(folder=tmp_path)))
        assert caught.value.code == "not_found"


@pytest.mark.usefixtures("generator")
def test_the_generator_is_asked_unless_a_folder_is_given() -> None:
    source = Source(seed=4, lines=3, pages=1)
    first, again = list(crops(source)), list(crops(source))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)) and len(first) == 3
    assert len(list(pages(source))) == 1
    assert source.describe() == "generator, seed 4, 3 lines, 1 pages"
