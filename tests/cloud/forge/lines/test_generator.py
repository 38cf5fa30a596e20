from __future__ import annotations

import itertools

import numpy as np
import pytest

from tierocr.cloud.forge.lines.generator import generate_lines
from tierocr.cloud.forge.lines.wording import KINDS
from tierocr.shared.models.store import find_pack

pytestmark = pytest.mark.usefixtures("installed_fonts")

CHARSET = [chr(code) for code in range(0x21, 0x7F)] + [chr(c) for c in range(0x4E00, 0xA000)]


def test_a_longer_run_starts_with_the_same_lines() -> None:
    short = list(generate_lines(7, 6, charset=CHARSET))
    long = list(itertools.islice(generate_lines(7, 1000, charset=CHARSET), 12))
    for one, same in zip(short, long, strict=False):
        assert (one.text, one.kind, one.medium) == (same.text, same.kind, same.medium)
        assert np.array_equal(one.image, same.image)


def test_another_seed_has_other_lines() -> None:
    texts = [{line.text for line in generate_lines(seed, 30, charset=CHARSET)} for seed in (1, 2)]
    assert len(texts[0] & texts[1]) <= 2


def test_lines_are_crops_of_lines() -> None:
    for line in generate_lines(3, 80, charset=CHARSET):
        height, width, channels = line.image.shape
        assert line.image.dtype == np.uint8 and channels == 3
        assert 8 <= height <= 80 and width >= 0.3 * height
        assert line.image.flags.c_contiguous
        assert int(line.image.max()) - int(line.image.min()) > 20  # there is something on it
        assert line.kind in KINDS


def test_labels_ask_for_nothing_that_the_recogniser_cannot_say() -> None:
    known = set(find_pack("edge-tiny").charset()) | {" "}
    assert all(set(line.text) <= known for line in generate_lines(4, 60))
