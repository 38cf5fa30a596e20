from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.text.punctuation import normalise_punctuation

SIGNS = "，。：；、！？,.:;…⋯-—―─·•・‧\"＂“”'‘’﹐｡︰﹔｢｣「」"
ALPHABET = SIGNS + "中文カaB09《》（） _=`/@\n"


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("等等...", "等等……"),
        ("等等。。。", "等等……"),
        ("等等…好", "等等……好"),
        ("好的。。", "好的。"),
        ("甲，，乙,，丙", "甲，乙，丙"),
        ("甲;；乙：:丙", "甲；乙：丙"),
        ("甲、、乙", "甲、乙"),
        ("他说--好", "他说——好"),
        ('他说"你好"', "他说“你好”"),
        ("他说”你好“", "他说“你好”"),
        ('他用"iPhone"拍', "他用“iPhone”拍"),
        ("“漏字”“错字“", "“漏字”“错字”"),
        ("说'你好。'吧", "说‘你好。’吧"),
        ("阿凡提•乌有", "阿凡提·乌有"),
        ("甲﹐乙｡", "甲，乙。"),
    ],
)
def test_look_alikes_and_doubles(raw: str, wanted: str) -> None:
    assert normalise_punctuation(raw) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'He said "yes"...',
        "std::vector, a--b, x..y",
        "“外“内”外”",
        '17"显示器和19"显示器',
        'print("中文")',
        "好！！真的？！",
        "工作日9:00—17:00",
        "コーヒー・ティー",
        "他说：“好……”",
        "it's 'quoted'",
        "Hello…",
        "1. 2) 3、",
        "",
    ],
)
def test_what_must_not_change(text: str) -> None:
    assert normalise_punctuation(text) == text


@given(st.text(ALPHABET))
def test_twice_is_once(text: str) -> None:
    once = normalise_punctuation(text)
    assert normalise_punctuation(once) == once


@given(st.one_of(st.text(), st.text(ALPHABET)))
def test_nothing_but_signs_changes(text: str) -> None:
    strip = str.maketrans("", "", SIGNS + "．！？﹑﹒﹕﹖﹗､∙⋅･")
    assert normalise_punctuation(text).translate(strip) == text.translate(strip)
