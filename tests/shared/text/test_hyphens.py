from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.text.hyphens import join_hyphenated, mend_broken_word


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["a recog-", "nised word"], "a recognised word"),
        (["the pre-", "sent state"], "the present state"),
        (["the high-", "est tower"], "the highest tower"),
        (["(recog-", "nition)"], "(recognition)"),
        (["a well-", "known fact"], "a well-known fact"),
        (["a well-known", "fact"], "a well-known fact"),
        (["INV-", "2024"], "INV-2024"),
        (["pages 10-", "20"], "pages 10-20"),
        (["the Smith-", "Jones report"], "the Smith-Jones report"),
        (["PP-OCRv6-", "tiny model"], "PP-OCRv6-tiny model"),
        (["send e-", "mail"], "send e-mail"),
        (["pre-", "and post-war"], "pre- and post-war"),
        (["a dash -", "like this"], "a dash - like this"),
        (["https://a.example/foo-", "bar"], "https://a.example/foo-bar"),
        (["soft\u00ad", "ened"], "softened"),
        (["a recog\u2010", "nised word"], "a recognised word"),
        (["数字化试", "点报告"], "数字化试点报告"),
        (["使用", "Python 编程"], "使用 Python 编程"),
        (["one", "two", "", "", "three"], "one two\nthree"),
        (["-", "item"], "- item"),
        (["ends in a hyphen-"], "ends in a hyphen-"),
        ([], ""),
    ],
)
def test_joining(lines: list[str], wanted: str) -> None:
    assert join_hyphenated(lines) == wanted


@given(st.lists(st.text("abC1-\u2010\u00ad中文 .(")))
def test_nothing_but_hyphens_and_spaces_is_lost(lines: list[str]) -> None:
    def rest(text: str) -> str:
        return "".join(char for char in text if char not in "-\u2010\u00ad \n")

    assert rest(join_hyphenated(lines)) == rest("".join(lines))


@given(st.lists(st.text("abC1-\u00ad中文 .(")))
def test_joined_text_is_left_alone(lines: list[str]) -> None:
    joined = join_hyphenated(lines)
    assert "\n".join(join_hyphenated([line]) for line in joined.split("\n")) == joined


@pytest.mark.parametrize(
    ("left", "right", "mended"),
    [
        ("an exam-", "ple of it", ("an example", "of it")),
        ("an exam-", "ple, and more", ("an example,", "and more")),
        ("it is well-", "known here", ("it is well-", "known here")),
        ("INV-", "2024 is due", ("INV-", "2024 is due")),
        ("an exam-", "ple", ("an exam-", "ple")),
        ("no hyphen", "at all here", ("no hyphen", "at all here")),
        ("", "alone here", ("", "alone here")),
    ],
)
def test_the_rest_of_a_broken_word_moves_up(left: str, right: str, mended: tuple[str, str]) -> None:
    assert mend_broken_word(left, right) == mended
