"""The circuit breaker against a plain model of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tierocr.edge.breaker import Breaker

REST, FAILURES = 30.0, 3


class Caller(RuleBasedStateMachine):
    """One caller at a time asks, and tells how it went."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker(failures_to_open=FAILURES, rest=REST)
        self.now = 1000.0
        self.in_a_row = 0
        self.opened_at: float | None = None

    @rule(seconds=st.floats(0.01, 2 * REST))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(worked=st.booleans())
    def call(self, worked: bool) -> None:
        rested = self.opened_at is None or self.now - self.opened_at >= REST
        assert self.breaker.allows(self.now) == rested
        if not rested:
            return
        if self.opened_at is not None:
            assert not self.breaker.allows(self.now)  # the probe is under way
        if worked:
            self.breaker.succeeded()
            self.in_a_row, self.opened_at = 0, None
        else:
            self.breaker.failed(self.now)
            self.in_a_row += 1
            if self.opened_at is not None or self.in_a_row >= FAILURES:
                self.opened_at = self.now

    @precondition(lambda self: self.opened_at is not None)
    @rule()
    def rest_to_the_end(self) -> None:
        assert self.opened_at is not None
        self.now = max(self.now, self.opened_at + REST)


TestCaller = Caller.TestCase


@given(st.integers(1, 6))
def test_it_opens_at_the_last_of_so_many_failures_in_a_row(failures: int) -> None:
    breaker = Breaker(failures_to_open=failures, rest=10)
    for _ in range(2):  # a success in between starts the count again
        for _ in range(failures - 1):
            assert breaker.allows(0)
            breaker.failed(0)
        breaker.succeeded()
    for _ in range(failures):
        assert breaker.allows(0)
        breaker.failed(0)
    assert not breaker.allows(0) and not breaker.allows(9.99)


def test_after_the_rest_one_probe_decides() -> None:
    breaker = Breaker(failures_to_open=1, rest=10)
    breaker.failed(0)
    assert breaker.allows(10)
    assert not breaker.allows(10) and not breaker.allows(1000)
    breaker.failed(12)
    assert not breaker.allows(21.9)
    assert breaker.allows(22)
    breaker.succeeded()
    assert breaker.allows(22) and breaker.allows(22)


def test_two_breakers_know_nothing_of_each_other() -> None:
    one, other = Breaker(failures_to_open=1), Breaker(failures_to_open=1)
    one.failed(0)
    assert not one.allows(1) and other.allows(1)
