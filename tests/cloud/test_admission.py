from __future__ import annotations

from contextlib import ExitStack, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.admission import LONGEST_RETRY, Bound, Busy, come_again


def test_places_are_held_and_freed() -> None:
    bound = Bound(3, "crops")
    with bound.hold(2):
        with pytest.raises(Busy) as caught, bound.hold(2, retry_after=7):
            pass
        assert caught.value.code == "over_capacity" and caught.value.retry_after == 7
        with bound.hold(1):
            assert bound.taken == 3
    assert bound.taken == 0


def test_a_place_is_freed_whatever_happens() -> None:
    bound = Bound(1, "crops")
    with pytest.raises(RuntimeError), bound.hold():
        raise RuntimeError
    assert bound.taken == 0


def test_who_holds_everything_keeps_no_newcomer_out() -> None:
    bound = Bound(8, "crops", reserve=2)
    with bound.hold(8, owner="flood"):
        with pytest.raises(Busy), bound.hold(1, owner="flood"):
            pass
        with pytest.raises(Busy), bound.hold(3, owner="other"):
            pass
        with bound.hold(2, owner="other"):
            assert bound.taken == 10
            with pytest.raises(Busy), bound.hold(1, owner="third"):
                pass
    assert bound.taken == 0 and bound.ahead("other", 4) == 0


def test_others_are_ahead_with_as_many_rounds_as_ones_own() -> None:
    bound = Bound(100, "crops")
    with bound.hold(50, owner="flood"), bound.hold(3, owner="small"):
        assert bound.ahead("flood", 8) == 50 + 3
        assert bound.ahead("small", 8) == 3 + 8
        assert bound.ahead("newcomer", 8) == 3 + 8
        with bound.hold(9, owner="small"):
            assert bound.ahead("small", 8) == 12 + 16


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), max_size=30),
    st.integers(1, 20),
    st.integers(0, 5),
)
def test_no_more_is_held_than_places_and_reserve(
    asked: list[tuple[str, int]], places: int, reserve: int
) -> None:
    bound = Bound(places, "crops", reserve=reserve)
    with ExitStack() as held:
        for owner, count in asked:
            with suppress(Busy):
                held.enter_context(bound.hold(count, owner=owner))
            assert bound.taken <= places + reserve
            assert all(bound.ahead(o, 4) <= bound.taken for o in "abcd")
    assert bound.taken == 0


@given(st.floats(0, 1000), st.floats(0, 1))
def test_nobody_is_told_to_come_before_there_is_room(wait: float, luck: float) -> None:
    seconds = come_again(wait, luck)
    assert min(wait, LONGEST_RETRY) <= seconds <= LONGEST_RETRY
    assert 1 <= seconds <= max(1.5 * wait + 2, 1)


@pytest.mark.parametrize("wait", [0.1, 3.0, 12.0])
def test_those_turned_away_together_come_back_apart(wait: float) -> None:
    told = {come_again(wait, k / 100) for k in range(100)}
    assert len(told) >= 2
