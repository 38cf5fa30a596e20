"""Properties of the wait between two attempts."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.backoff import LONGEST_ASKED, asked_wait, delay

attempts = st.integers(0, 5000)
jitters = st.floats(0, 1)
asked = st.none() | st.floats(0, 1e6)
LONGEST = 10.0


@given(attempts, asked, jitters)
def test_never_less_than_asked_for_never_much_more(
    attempt: int, retry_after: float | None, jitter: float
) -> None:
    wait = delay(attempt, retry_after, jitter)
    assert (retry_after or 0.0) <= wait <= max(retry_after or 0.0, LONGEST)
    assert math.isfinite(wait)


@given(attempts, st.floats(0.01, 1), jitters)
def test_it_grows_until_it_is_long_enough(attempt: int, base: float, jitter: float) -> None:
    now, later = (delay(n, None, jitter, base=base) for n in (attempt, attempt + 1))
    assert now <= later <= 2 * now + 1e-9


@given(st.integers(0, 3), jitters)
def test_the_jitter_is_full(attempt: int, jitter: float) -> None:
    assert math.isclose(delay(attempt, None, jitter), jitter * 0.2 * 2**attempt, abs_tol=1e-9)


def test_without_luck_there_is_no_wait() -> None:
    assert delay(7, None, 0.0) == 0.0
    assert delay(7, 0.0, 0.0) == 0.0
    assert delay(7, math.inf, 0.5) == math.inf


@given(st.text() | st.floats().map(str) | st.integers().map(str))
def test_what_a_server_asks_for_is_a_wait_within_reason(header: str) -> None:
    wait = asked_wait(header)
    assert wait is None or 0 <= wait <= LONGEST_ASKED


def test_waits_that_are_asked_for() -> None:
    assert asked_wait("1.5") == 1.5 and asked_wait("-3") == 0 and asked_wait("inf") == LONGEST_ASKED
    assert asked_wait(None) is None and asked_wait("Wed, 21 Oct 2015 07:28:00 GMT") is None
