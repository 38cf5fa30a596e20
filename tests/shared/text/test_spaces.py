from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.text.spaces import tidy_spaces

BLANKS = " \t\u00a0\u2003\u3000\u202f"


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("姓 名", "姓名"),
        ("购 买 方", "购买方"),
        ("中文 ， 中文 。", "中文，中文。"),
        ("使用 Python 编程", "使用 Python 编程"),
        ("名称： Acme Ltd", "名称：Acme Ltd"),
        ("《 书名 》 很好", "《书名》很好"),
        ("9900  0000\u30000012", "9900 0000 0012"),
        ("  two   words ", "two words"),
        ("甲 乙\n 丙  丁 \n", "甲乙\n丙丁\n"),
        ("Hello, world", "Hello, world"),
        ("안녕 세계", "안녕 세계"),
    ],
)
def test_spaces(raw: str, wanted: str) -> None:
    assert tidy_spaces(raw) == wanted


@given(st.text("中文カab1，。（《》,.\n" + BLANKS))
def test_twice_is_once(text: str) -> None:
    once = tidy_spaces(text)
    assert tidy_spaces(once) == once


@given(st.one_of(st.text(), st.text("中文a1，.\n" + BLANKS)))
def test_only_spaces_go(text: str) -> None:
    result = tidy_spaces(text)
    assert len(result) <= len(text)
    assert "".join(result.split()) == "".join(text.split())
    assert result.count("\n") == text.count("\n")
