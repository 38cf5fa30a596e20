from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.errors import TierocrError
from tierocr.shared.text.rules import RULES, apply_rules

ALPHABET = "中文カaB09，。：；！？（）,.:;!?()% \u3000\"“”'…、—-·/_@Ａ５\n《》"


def test_no_names_no_change() -> None:
    assert apply_rules("Ａ  中 文", []) == "Ａ  中 文"


def test_the_order_of_the_names_does_not_matter() -> None:
    raw = "姓 名:张三,,电话 :０１２３. . "
    assert apply_rules(raw, RULES) == apply_rules(raw, reversed(RULES))


def test_rules_work_hand_in_hand() -> None:
    raw = "合 计 :１，２３４．５０元 , 谢谢 惠顾..."
    assert apply_rules(raw, RULES) == "合计：1,234.50元，谢谢惠顾……"


@pytest.mark.parametrize(("name", "near"), [("width", "widths"), ("punct", "punctuation")])
def test_an_unknown_name_is_an_error_that_helps(name: str, near: str) -> None:
    with pytest.raises(TierocrError, match=f'did you mean "{near}"') as caught:
        apply_rules("x", ["spaces", name])
    assert caught.value.code == "config_invalid"


@given(st.text(ALPHABET), st.sets(st.sampled_from(sorted(RULES))))
def test_twice_is_once(text: str, names: set[str]) -> None:
    once = apply_rules(text, names)
    assert apply_rules(once, names) == once


@given(st.text(ALPHABET))
def test_letters_and_digits_survive(text: str) -> None:
    def letters(value: str) -> list[str]:
        return [
            char for char in value.translate({ord("Ａ"): "A", ord("５"): "5"}) if char.isalnum()
        ]

    assert letters(apply_rules(text, RULES)) == letters(text)
