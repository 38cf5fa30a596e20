from __future__ import annotations

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


@given(st.floats(0, 1000), st.floats(0, 1))
def test_nobody_is_told_to_come_before_there_is_room(wait: float, luck: float) -> None:
    seconds = come_again(wait, luck)
    assert min(wait, LONGEST_RETRY) <= seconds <= LONGEST_RETRY
    assert 1 <= seconds <= max(1.5 * wait + 2, 1)


@pytest.mark.parametrize("wait", [0.1, 3.0, 12.0])
def test_those_turned_away_together_come_back_apart(wait: float) -> None:
    told = {come_again(wait, k / 100) for k in range(100)}
    assert len(told) >= 2
