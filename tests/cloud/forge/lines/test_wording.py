from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.forge.lines.wording import KINDS, SHARES, any_kind, level_characters, phrase
from tierocr.cloud.forge.sample_pages.canvas import is_wide

EVERYTHING = frozenset(chr(code) for code in range(0x20, 0x10000))

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from(sorted(KINDS)))
def test_a_phrase_has_no_loose_spaces_and_says_something(seed: int, kind: str) -> None:
    text = phrase(np.random.default_rng(seed), kind, EVERYTHING)
    assert text and text == " ".join(text.split())


@given(
    seeds,
    st.sampled_from(sorted(KINDS)),
    st.sets(st.sampled_from("0123456789年月日公司the:："), min_size=1),
)
def test_only_allowed_characters_are_used(seed: int, kind: str, allowed: set[str]) -> None:
    text = phrase(np.random.default_rng(seed), kind, allowed)
    assert text and set(text) <= allowed | {" "}


def test_the_national_tables_come_from_their_encodings() -> None:
    level_1, level_2 = (
        level_characters("gb2312", 0xB0, 0xD7),
        level_characters("gb2312", 0xD8, 0xF7),
    )
    assert (len(level_1), len(level_2)) == (3755, 3008)
    assert level_1[0] == "啊" and level_2[-1] == "齄"
    assert not set(level_1) & set(level_2)


def test_about_half_of_the_lines_are_chinese() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    assert set(SHARES) == set(KINDS)
    rng = np.random.default_rng(5)
    wide = [is_wide(phrase(rng, any_kind(rng), EVERYTHING)) for _ in range(1000)]
    assert 0.45 < sum(wide) / len(wide) < 0.7
