from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.text.widths import narrow_form, normalise_widths

ALPHABET = "中文日カ々aBz09，。：；！？（）％－／,.:;!?()%-/ 《》“”\"'…、Ａｚ５￥¥$@_=\n`"


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("ＡＢＣ１２３", "ABC123"),
        ("发票号码:12345678", "发票号码：12345678"),
        ("名称:南柯市,地址:槐安区", "名称：南柯市，地址：槐安区"),
        ("谢谢惠顾!欢迎再来.", "谢谢惠顾！欢迎再来。"),
        ("Hello， world。", "Hello, world."),
        ("时间１２：３０至１８：００", "时间12:30至18:00"),
        ("合计１，２３４．５０元", "合计1,234.50元"),
        ("使用Python，Java编程", "使用Python,Java编程"),
        ("支持Word。Excel也行", "支持Word。Excel也行"),
        ("苹果(Apple)与梨(pear)", "苹果（Apple）与梨（pear）"),
        ("函数f（x）+1等", "函数f(x)+1等"),
        ("税率１３％，增长5％", "税率13%，增长5%"),
        ("2031－09－16", "2031-09-16"),
        ("见http://a.example/x?y=1,谢谢", "见http://a.example/x?y=1，谢谢"),
        ("(见www.a.example)", "（见www.a.example）"),
    ],
)
def test_each_sign_takes_the_width_of_its_surroundings(raw: str, wanted: str) -> None:
    assert normalise_widths(raw) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example/搜索?q=中,文:三",
        "digital@nanke-lib.example",
        "INV-2024-001",
        "NK/T 031-2028",
        "2031-03-18 17:46",
        "¥1,234.50",
        "3.14",
        "1:2",
        "config.yaml",
        'print("中文,好:吗")',
        "`键:值`",
        "a_b.c(d,e)",
        "文件.doc",
        "等等...",
        "Hello, world (again)!",
        "안녕, 세계!",
        "",
    ],
)
def test_what_must_not_change(text: str) -> None:
    assert normalise_widths(text) == text


def test_a_line_is_judged_by_itself() -> None:
    assert normalise_widths("中文\nHello，world") == "中文\nHello,world"


@given(st.text(ALPHABET))
def test_twice_is_once(text: str) -> None:
    once = normalise_widths(text)
    assert normalise_widths(once) == once


@given(st.one_of(st.text(), st.text(ALPHABET)))
def test_only_widths_change(text: str) -> None:
    result = normalise_widths(text)
    assert len(result) == len(text)
    assert narrow_form(result) == narrow_form(text)
