from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.shared.document import Region
from tierocr.shared.geometry import rectangle, turn
from tierocr.shared.ocr.orientation import (
    SAMPLE,
    Vote,
    elect,
    is_column,
    mostly_columns,
    sample,
)


def level(width: float, height: float = 20) -> Region:
    return Region(quad=rectangle(0, 0, width, height), score=0.9)


def standing(length: float, width: float = 20) -> Region:
    return Region(quad=turn(rectangle(0, 0, width, length), 1), score=0.9)


def votes(*scores: dict[int, float]) -> list[Vote]:
    return [Vote(scores=s) for s in scores]


CLEARLY = {turn: {turn: 0.95, 0: 0.3} for turn in (1, 2, 3)}


def test_nobody_votes() -> None:
    assert elect([]) == 0


@pytest.mark.parametrize("quarter_turns", [1, 2, 3])
def test_a_clear_majority_turns_the_page(quarter_turns: int) -> None:
    ballot = CLEARLY[quarter_turns]
    assert elect(votes(*[ballot] * 8)) == quarter_turns
    assert elect(votes(*[ballot] * 6, *[{0: 0.9, 2: 0.2}] * 4)) == quarter_turns


def test_no_majority_no_turn() -> None:
    assert elect(votes(*[CLEARLY[2]] * 5, *[{0: 0.9, 2: 0.2}] * 5)) == 0
    assert elect(votes(*[CLEARLY[1]] * 4, *[CLEARLY[3]] * 4)) == 0


def test_a_small_lead_or_a_bad_reading_is_no_vote() -> None:
    assert elect(votes(*[{0: 0.90, 2: 0.95}] * 8)) == 0
    assert elect(votes(*[{0: 0.05, 2: 0.35}] * 8)) == 0


def test_a_way_that_was_not_tried_counts_as_nothing() -> None:
    assert elect(votes(*[{1: 0.3, 3: 0.9}] * 5)) == 3


@given(st.lists(st.dictionaries(st.integers(0, 3), st.floats(0, 1), min_size=1), max_size=12))
def test_the_order_of_votes_never_matters(scores: list[dict[int, float]]) -> None:
    turned = elect(votes(*scores))
    assert turned in (0, 1, 2, 3)
    assert elect(votes(*reversed(scores))) == turned


@given(st.lists(st.floats(0, 1), max_size=12))
def test_lines_that_read_best_as_they_stand_never_turn_the_page(upright: list[float]) -> None:
    assert elect(votes(*({0: u, 2: u * 0.99} for u in upright))) == 0


def test_columns() -> None:
    assert is_column(standing(60).quad)
    assert not is_column(level(60).quad)
    assert not is_column(level(20, 60).quad)  # ordered as a level line, though taller than wide


def test_a_page_of_columns_goes_by_area() -> None:
    assert mostly_columns([standing(300), level(100)])
    assert not mostly_columns([standing(300), level(200), level(200)])
    assert not mostly_columns([standing(30)])  # a single glyph says nothing
    assert not mostly_columns([])


def test_the_sample_holds_long_lines_of_usual_height() -> None:
    lines = [level(100 + i) for i in range(30)] + [level(900, 90), level(15), level(40, 4)]
    chosen = sample(lines)
    assert len(chosen) == SAMPLE == len(set(chosen))
    assert all(i < 30 for i in chosen)
    assert sample([]) == []


def test_where_no_line_is_fit_all_of_them_may_vote() -> None:
    assert sorted(sample([level(20), level(21)])) == [0, 1]
