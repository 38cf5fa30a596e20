from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.documents import document_with, line_at, page_with
from tierocr.shared.document import Failure, Page
from tierocr.shared.export.text import to_text

FAILED = Page(index=1, width=0, height=0, error=Failure(code="bad_image", message="no"))


def test_one_row_for_each_line() -> None:
    page = page_with([line_at("one", 0, 0), line_at("two", 0, 30), line_at("合计", 0, 60)])
    assert to_text(document_with(page)) == "one\ntwo\n合计\n"


def test_lines_side_by_side_are_one_row() -> None:
    page = page_with(
        [
            line_at("Coffee", 0, 0),
            line_at("2", 150, 3),
            line_at("3.20", 300, -2),
            line_at("Bread", 0, 40),
            line_at("1.85", 300, 41),
        ]
    )
    assert to_text(document_with(page)) == "Coffee\t2\t3.20\nBread\t1.85\n"


def test_columns_read_one_after_the_other_stay_apart() -> None:
    left = [line_at(f"l{i}", 0, 30 * i) for i in range(3)]
    right = [line_at(f"r{i}", 200, 30 * i) for i in range(3)]
    assert to_text(document_with(page_with([*left, *right]))) == "l0\nl1\nl2\nr0\nr1\nr2\n"


def test_pages_are_separated_and_failed_ones_left_out() -> None:
    one, two = page_with([line_at("one", 0, 0)]), page_with([line_at("two", 0, 0)], index=2)
    assert to_text(document_with(one, FAILED, two)) == "one\n\ftwo\n"
    assert to_text(document_with(FAILED)) == ""
    assert to_text(document_with()) == ""
    assert to_text(document_with(page_with([]))) == ""


@given(
    st.lists(
        st.tuples(st.text("abc中 ", min_size=1), st.integers(0, 900), st.integers(0, 900)),
        max_size=12,
    )
)
def test_no_text_is_lost_or_reordered(placed: list[tuple[str, int, int]]) -> None:
    page = page_with([line_at(text, x, y) for text, x, y in placed])
    told = to_text(document_with(page)).replace("\n", "\t").split("\t")
    assert told[:-1] == [text for text, _, _ in placed]
