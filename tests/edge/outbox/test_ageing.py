"""The outbox's own time, whatever is done to the clock of the device."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.outbox.ageing import LONGEST_OFF, Moment, dump, load, resumed
from tierocr.edge.outbox.clock import OutboxClock, steady

walls = st.floats(-1e10, 1e11)
moments = st.builds(Moment, time=walls, wall=walls)
WEEK = 7 * 86_400.0


@given(walls)
def test_it_begins_as_the_wall_clock(wall: float) -> None:
    assert resumed(None, wall) == wall


@given(moments, walls)
def test_a_time_off_counts_within_reason_and_never_backwards(last: Moment, wall: float) -> None:
    assert last.time <= resumed(last, wall) <= last.time + LONGEST_OFF


@given(moments, st.floats(0, LONGEST_OFF))
def test_a_night_off_counts_as_it_was(last: Moment, off: float) -> None:
    assert abs(resumed(last, last.wall + off) - (last.time + off)) < 1e-3


@given(moments)
def test_it_is_kept_as_it_is(moment: Moment) -> None:
    assert load(dump(moment)) == moment and load(None) is None


@given(walls, st.lists(st.tuples(st.floats(0, 86_400), walls), max_size=20))
def test_nothing_expires_early_or_stays_for_ever(
    first: float, runs: list[tuple[float, float]]
) -> None:
    """Runs of the agent; before the end of each the clock is set to anything."""
    time = resumed(None, first)
    deadline, ran = time + WEEK, 0.0
    last = Moment(time=time, wall=first)
    for n, (seconds, wall) in enumerate(runs, 1):
        time = resumed(last, wall) + seconds
        ran += seconds
        last = Moment(time=time, wall=wall)
        slack = 1e-3
        assert time <= deadline - WEEK + ran + n * LONGEST_OFF + slack, "not all at once"
        assert time >= deadline - WEEK + ran - slack, "time that it runs always counts"


def test_the_clock_goes_on_from_where_it_is_told_to() -> None:
    now = 5.0
    clock = OutboxClock(1000.0, lambda: now)
    assert clock.now() == 1000.0
    now = 8.5
    assert clock.now() == 1003.5


def test_the_steady_clock_does_not_go_back() -> None:
    assert steady() <= steady()
