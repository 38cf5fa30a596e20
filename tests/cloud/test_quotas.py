from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.quotas import OverQuota, Quotas, Rate

RATE = Rate(per_second=2.0, burst=10.0)


def refused(quotas: Quotas, device: str, count: float, now: float) -> int:
    with pytest.raises(OverQuota) as caught:
        quotas.take(device, count, now)
    assert caught.value.code == "rate_limited"
    return caught.value.retry_after


def test_a_burst_is_let_through_and_then_the_rate_holds() -> None:
    quotas = Quotas(RATE, "regions")
    for _ in range(10):
        quotas.take("a", 1, 0.0)
    assert refused(quotas, "a", 1, 0.0) == 1
    quotas.take("a", 1, 0.5)
    assert refused(quotas, "a", 3, 0.5) == 2  # one and a half seconds, rounded up


def test_a_refused_device_loses_nothing() -> None:
    quotas = Quotas(RATE, "regions")
    quotas.take("a", 9, 0.0)
    refused(quotas, "a", 5, 0.0)
    quotas.take("a", 1, 0.0)


def test_one_device_does_not_use_up_anothers_quota() -> None:
    quotas = Quotas(RATE, "regions")
    quotas.take("a", 10, 0.0)
    quotas.take("b", 10, 0.0)


def test_more_than_the_burst_at_once_is_paid_for_later() -> None:
    quotas = Quotas(RATE, "regions")
    quotas.take("a", 30, 0.0)
    assert refused(quotas, "a", 1, 0.0) == 11  # twenty owed and one more, at two a second
    quotas.take("a", 1, 10.5)


def test_no_rate_is_no_limit() -> None:
    quotas = Quotas(Rate(per_second=0, burst=0), "regions")
    for _ in range(1000):
        quotas.take("a", 1000, 0.0)
    assert len(quotas) == 0


def test_devices_that_stay_away_are_forgotten() -> None:
    quotas = Quotas(RATE, "regions")
    for k in range(1000):
        quotas.take(f"device {k}", 1, float(k))
    assert len(quotas) <= 130


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 12)), max_size=60))
def test_in_the_long_run_no_more_than_the_rate_passes(asked: list[tuple[float, int]]) -> None:
    quotas, now, passed = Quotas(RATE, "regions"), 0.0, 0
    for pause, count in asked:
        now += pause
        try:
            quotas.take("a", count, now)
        except OverQuota as error:
            assert error.retry_after >= 1
        else:
            passed += count
            # one request may overdraw by what it asks beyond the burst
            assert passed <= RATE.burst + RATE.per_second * now + 2


@given(st.integers(1, 10), st.floats(0, 100))
def test_who_comes_again_after_retry_after_is_let_in(count: int, now: float) -> None:
    quotas = Quotas(RATE, "regions")
    quotas.take("a", 10, now)
    again = refused(quotas, "a", count, now)
    quotas.take("a", count, now + again)
