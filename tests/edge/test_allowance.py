from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.allowance import HOUR, LOOK_AGAIN, Allowance, Budget, Window

NOON = datetime(2026, 12, 1, 12, 0)  # a Tuesday


def at(seconds: float) -> tuple[float, datetime]:
    return seconds, NOON + timedelta(seconds=seconds)


@given(
    st.integers(1, 10**6),
    st.integers(1, 500),
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 900)), max_size=40),
    st.integers(0, 40),
)
def test_no_hour_sees_more_than_twice_the_budget_and_one_call(
    per_hour: int, calls: int, sends: list[tuple[int, float]], restart: int
) -> None:
    budget = Budget(bytes_per_hour=per_hour, calls_per_hour=calls)
    allowance, now, sent = Allowance(budget), 0.0, []
    for n, (size, pause) in enumerate(sends):
        if n == restart:
            allowance = Allowance(budget, kept=allowance.dump())
        now += pause
        if allowance.wait(*at(now)) == 0:
            allowance.take(size, *at(now))
            sent.append((now, size))
    for begin, _ in sent:
        hour = [size for when, size in sent if begin <= when < begin + HOUR]
        assert len(hour) <= 2 * calls + 1
        assert sum(hour[:-1]) <= 2 * per_hour + max(hour)


def test_who_comes_when_told_to_is_let_in() -> None:
    allowance = Allowance(Budget(calls_per_hour=120))
    for _ in range(120):
        assert allowance.wait(*at(0)) == 0
        allowance.take(1, *at(0))
    wait = allowance.wait(*at(0))
    assert 0 < wait <= 30
    assert allowance.wait(*at(wait)) == 0


def test_a_call_larger_than_the_hour_goes_and_is_waited_for() -> None:
    allowance = Allowance(Budget(bytes_per_hour=1000))
    allowance.take(3000, *at(0))
    assert allowance.wait(*at(1.9 * HOUR)) > 0
    assert allowance.wait(*at(2.1 * HOUR)) == 0


def test_a_restart_and_a_clock_set_back_bring_nothing() -> None:
    budget = Budget(calls_per_hour=2)
    allowance = Allowance(budget)
    allowance.take(1, *at(7200))
    allowance.take(1, *at(7200))
    again = Allowance(budget, kept=allowance.dump())
    assert again.wait(*at(7200)) > 0
    assert again.wait(*at(0)) > 0
    assert Allowance(budget, kept="damaged").wait(*at(0)) == 0
    assert Allowance(Budget(calls_per_hour=0)).wait(*at(0)) > 0


def test_windows_close_and_have_budgets_of_their_own() -> None:
    shop = Window(start=8 * 60, end=18 * 60, days=frozenset(range(5)))
    night = Window(start=22 * 60, end=6 * 60, budget=Budget(bytes_per_hour=10))
    allowance = Allowance(None, (shop, night))
    assert allowance.wait(0, NOON) == LOOK_AGAIN
    assert allowance.wait(0, NOON.replace(hour=18)) == 0
    assert allowance.wait(0, NOON.replace(day=5)) == 0, "a Saturday"
    late = NOON.replace(hour=23)
    allowance.take(10**6, 0, late)
    assert allowance.wait(0, late) > 0
    assert allowance.wait(0, NOON.replace(hour=5)) > 0, "over midnight"
    assert allowance.wait(0, NOON.replace(hour=7)) == 0


@given(st.integers(0, 1439), st.integers(0, 1439), st.integers(0, 1439))
def test_a_window_and_the_one_from_its_end_to_its_start_share_the_day(
    start: int, end: int, minute: int
) -> None:
    when = NOON.replace(hour=minute // 60, minute=minute % 60)
    if start != end:
        one, other = Window(start=start, end=end), Window(start=end, end=start)
        assert one.holds(when) != other.holds(when)
