from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.rendered import line_crop
from tierocr.cloud.forge.lines.looks import MEDIA, Medium, any_look, prints
from tierocr.cloud.forge.lines.wear import compressed, faded, resampled, smeared, worn

CROP = line_crop("Invoice 2031-05-02", scale=0.8)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MEDIA), st.integers(1, 60), st.integers(1, 300))
def test_a_medium_keeps_the_size_and_follows_its_seed(
    seed: int, medium: Medium, height: int, width: int
) -> None:
    pixels = np.ascontiguousarray(np.resize(CROP, (height, width, 3)))
    before = pixels.copy()
    once, again = (worn(pixels, np.random.default_rng(seed), medium, 20.0) for _ in range(2))
    assert once.shape == pixels.shape and once.dtype == np.uint8
    assert np.array_equal(once, again)
    assert np.array_equal(pixels, before)


@pytest.mark.parametrize("medium", MEDIA)
def test_the_ink_stays_darker_than_the_paper(medium: Medium) -> None:
    ink = CROP.mean(axis=2) < 128
    for seed in range(10):
        grey = worn(CROP, np.random.default_rng(seed), medium, 20.0).mean(axis=2)
        assert grey[ink].mean() < grey[~ink].mean()


def test_a_fax_is_black_and_white() -> None:
    assert set(np.unique(worn(CROP, np.random.default_rng(1), "fax", 20.0))) == {0, 255}


def test_faded_ink_turns_into_paper() -> None:
    gone = faded(CROP, np.zeros(CROP.shape[:2], dtype=np.float32))
    assert (gone == 255).all()
    assert np.array_equal(faded(CROP, np.ones(CROP.shape[:2], dtype=np.float32)), CROP)


def test_every_effect_keeps_the_shape() -> None:
    for changed in (resampled(CROP, 0.5), compressed(CROP, 40), smeared(CROP, 3, down=True)):
        assert changed.shape == CROP.shape and not np.array_equal(changed, CROP)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(MEDIA))
def test_a_look_can_print_its_text(seed: int, wide: bool, medium: Medium) -> None:
    look = any_look(np.random.default_rng(seed), wide=wide, medium=medium)
    assert prints(look.face, wide=wide)
    assert 8 <= look.size <= 40 and look.size <= look.drawn + 1
