from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.fakes.documents import document_with, line_at, page_with
from tierocr.shared.document import Failure, Page
from tierocr.shared.export.markdown import to_markdown

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def rendered(markdown: str) -> list[list[str]]:
    """The rows of each paragraph as a reader of Markdown shows them; anything else is a fault."""
    paragraphs = []
    for token in READER.parse(markdown):
        if token.type in ("paragraph_open", "paragraph_close", "hr"):
            continue
        assert token.type == "inline", f"became {token.type}: {markdown!r}"
        rows = [""]
        for child in token.children or []:
            if child.type in ("hardbreak", "softbreak"):
                rows.append("")
            else:
                assert child.type in ("text", "text_special"), f"became {child.type}: {markdown!r}"
                rows[-1] += child.content
        paragraphs.append(rows)
    return paragraphs


def one_under_the_other(texts: list[str]) -> Page:
    return page_with([line_at(text, 0, 22 * i) for i, text in enumerate(texts)])


def test_lines_close_together_are_one_paragraph() -> None:
    markdown = to_markdown(document_with(one_under_the_other(["one", "two"])))
    assert rendered(markdown) == [["one", "two"]]


def test_white_space_begins_a_paragraph() -> None:
    page = page_with([line_at("one", 0, 0), line_at("two", 0, 22), line_at("three", 0, 80)])
    assert rendered(to_markdown(document_with(page))) == [["one", "two"], ["three"]]


def test_the_next_column_begins_a_paragraph() -> None:
    page = page_with(
        [*(line_at(f"l{i}", 0, 22 * i) for i in range(4)), line_at("r0", 200, 0)],
    )
    assert rendered(to_markdown(document_with(page))) == [["l0", "l1", "l2", "l3"], ["r0"]]


def test_lines_side_by_side_are_one_row() -> None:
    page = page_with([line_at("Coffee", 0, 0), line_at("3.20", 300, 1)])
    ((row,),) = rendered(to_markdown(document_with(page)))
    assert row.split() == ["Coffee", "3.20"]


def test_pages_are_separated_by_a_rule_and_failed_ones_left_out() -> None:
    failed = Page(index=1, width=0, height=0, error=Failure(code="bad_image", message="no"))
    one, two = one_under_the_other(["one"]), one_under_the_other(["two"])
    markdown = to_markdown(document_with(one, failed, two))
    assert [t.type for t in READER.parse(markdown)].count("hr") == 1
    assert rendered(markdown) == [["one"], ["two"]]
    assert to_markdown(document_with(failed)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "*bold* _not_ `code` ~~gone~~",
        "# Total",
        "[link](http://a.b) ![image](c)",
        "<b>1 < 2 > 0</b>",
        "a | b | c",
        "back\\slash \\* \\",
        "- item",
        "+ item",
        "-",
        "1. first",
        "12) twelfth",
        "1.",
        "----------",
        "==========",
        "- - - - -",
        "***",
        "___",
        "&amp; &lt;b&gt; &#35;",
        "AT&T",
        "-12.50",
        "+49 30 123",
        "3.20",
        "> quoted",
        "~~~",
        "```",
        "合计：＊12＊",
        ":--- | ---:",
    ],
)
def test_a_row_shows_as_it_reads(text: str) -> None:
    for texts in ([text], ["before", text], ["before", text, "after"]):
        assert rendered(to_markdown(document_with(one_under_the_other(texts)))) == [texts]


printed = st.text("ab1 .)-+=*_#>|`~<&;!()[]\\:/中", min_size=1, max_size=12).map(
    lambda text: " ".join(text.split())
)


@given(st.lists(printed.filter(bool), min_size=1, max_size=4))
@example(["a", "-"])
@example(["a", "="])
@example(["1)"])
def test_any_text_shows_as_it_reads(texts: list[str]) -> None:
    assert rendered(to_markdown(document_with(one_under_the_other(texts)))) == [texts]
