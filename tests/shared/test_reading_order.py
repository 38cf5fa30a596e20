from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from tests.fakes.rendered import tilted_box
from tierocr.shared.document import Quad
from tierocr.shared.geometry import rectangle, scale_quad, turn
from tierocr.shared.reading_order import reading_order

HEIGHT = 20


def box(x: float, y: float, width: float, height: float = HEIGHT) -> Quad:
    return rectangle(x, y, x + width, y + height)


def skewed(quads: list[Quad], degrees: float) -> list[Quad]:
    """The page turned about its origin; each box stays a rectangle."""
    turned = []
    for quad in quads:
        (x0, y0), _, (x1, y1), _ = quad
        middle = tilted_box((x0 + x1), (y0 + y1), degrees, (0, 0))[2]
        turned.append(tilted_box(x1 - x0, y1 - y0, degrees, middle))
    return turned


def assert_in_order(quads: list[Quad]) -> None:
    """`quads` stand as people read them; any order of the input must give that."""
    for seed in range(5):
        mixed = random.Random(seed).sample(range(len(quads)), len(quads))
        order = reading_order([quads[i] for i in mixed])
        assert [mixed[i] for i in order] == list(range(len(quads)))


def prose(columns: int, lines: int = 8, gutter: float = 40) -> list[Quad]:
    """Columns of text, the last line of each short."""
    return [
        box(50 + c * (300 + gutter), 100 + 30 * n, 300 if n < lines - 1 else 120)
        for c in range(columns)
        for n in range(lines)
    ]


TABLE = [box(x, 100 + 40 * row, 60) for row in range(6) for x in (50, 250, 480)]
RECEIPT = [b for row in range(7) for b in (box(40, 30 * row, 200), box(420, 30 * row + 2, 70))]
HEADED = [box(50, 40, 640, 40), *prose(2), box(50, 400, 640), box(50, 440, 500)]


def test_nothing_and_one() -> None:
    assert reading_order([]) == []
    assert reading_order([box(0, 0, 10)]) == [0]


def test_a_single_column() -> None:
    assert_in_order(prose(1))


def test_columns_of_prose_one_after_the_other() -> None:
    assert_in_order(prose(2))
    assert_in_order(prose(3))


def test_columns_of_prose_whose_lines_are_not_level() -> None:
    left, right = prose(1, 8), [box(390, 107 + 31 * n, 300) for n in range(7)]
    assert_in_order([*left, *right])


def test_a_headline_over_two_columns_and_a_footer() -> None:
    assert_in_order(HEADED)


def test_tables_and_receipts_row_by_row() -> None:
    assert_in_order(TABLE)
    assert_in_order(RECEIPT)


def test_a_key_and_its_value_stand_in_one_row_though_heights_differ() -> None:
    assert_in_order([box(50, 100, 100, 20), box(300, 96, 100, 30), box(50, 150, 90)])


def test_skewed_rows_stay_rows() -> None:
    rows = [box(x, 100 + 34 * row, 120) for row in range(8) for x in (50, 350, 650)]
    for degrees in (-4, -2, 2, 4):
        assert_in_order(skewed(rows, degrees))


def test_skewed_columns_stay_columns() -> None:
    for degrees in (-3, 3):
        assert_in_order(skewed(prose(2), degrees))


def test_vertical_columns_from_right_to_left() -> None:
    columns = [
        turn(box(x + lean, y, 24, height), 1)
        for x in (400, 350, 300, 250)
        for y, height, lean in ((50, 300, 0), (380, 200, 3))
    ]
    assert_in_order(columns)


def test_a_vertical_heading_beside_prose_does_not_turn_the_page() -> None:
    order = reading_order([*prose(1), turn(box(600, 100, 24, 200), 1)])
    assert [i for i in order if i < 8] == list(range(8))


boxes = st.lists(
    st.builds(
        box,
        st.integers(0, 1000),
        st.integers(0, 1000),
        st.integers(1, 600),
        st.integers(1, 60),
    ),
    max_size=14,
)
layouts = st.one_of(
    boxes,
    st.sampled_from([TABLE, RECEIPT, HEADED, prose(2), prose(3)]),
    st.lists(
        st.builds(lambda x, y, w, h: turn(box(x, y, w, h), 1), *[st.integers(1, 400)] * 4),
        max_size=10,
    ),
)


@given(layouts)
def test_each_box_stands_once(quads: list[Quad]) -> None:
    assert sorted(reading_order(quads)) == list(range(len(quads)))


@given(layouts, st.randoms(use_true_random=False))
@example([box(0, 0, 1, 1), box(0, 0, 2, 1)], random.Random(0))
@example([box(0, 0, 1, 1), box(0, 0, 2, 1)], random.Random(1))
def test_the_order_of_the_input_never_matters(quads: list[Quad], shuffle: random.Random) -> None:
    mixed = shuffle.sample(quads, len(quads))
    assert [mixed[i] for i in reading_order(mixed)] == [quads[i] for i in reading_order(quads)]


@given(layouts)
def test_the_scale_never_matters(quads: list[Quad]) -> None:
    assert reading_order([scale_quad(q, 3, 3) for q in quads]) == reading_order(quads)
