from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stats import coverage, median_interval, paired_ratios, quartiles

SECONDS = st.floats(min_value=1e-4, max_value=1e4)
SAMPLES = st.lists(SECONDS, min_size=1, max_size=40)


def test_quartiles_of_known_values() -> None:
    found = quartiles([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (found.q1, found.median, found.q3, found.n) == (2.0, 3.0, 4.0, 5)


@given(SAMPLES)
def test_quartiles_are_in_order_and_within_the_sample(values: list[float]) -> None:
    found = quartiles(values)
    ordered = [min(values), found.q1, found.median, found.q3, max(values)]
    for a, b in zip(ordered, ordered[1:], strict=False):
        assert a <= b or math.isclose(a, b)
    assert found.n == len(values)


@given(SAMPLES, st.floats(min_value=0.1, max_value=10))
def test_a_steady_factor_is_found_exactly(values: list[float], factor: float) -> None:
    ratios = paired_ratios([value * factor for value in values], values)
    interval = median_interval(ratios)
    assert math.isclose(interval.low, factor)
    assert math.isclose(interval.high, factor)


@given(SAMPLES)
def test_the_interval_holds_the_median_and_does_not_depend_on_order(values: list[float]) -> None:
    interval = median_interval(values)
    median = quartiles(values).median
    assert interval.low <= median * (1 + 1e-12) and median <= interval.high * (1 + 1e-12)
    assert median_interval(values[::-1]) == interval


@given(st.lists(SECONDS, min_size=6, max_size=60), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_interval_keeps_its_confidence(values: list[float], confidence: float) -> None:
    assert median_interval(values, confidence=confidence).coverage >= confidence


@given(st.lists(SECONDS, min_size=6, max_size=60))
def test_more_confidence_needs_a_wider_interval(values: list[float]) -> None:
    narrow = median_interval(values, confidence=0.5)
    wide = median_interval(values, confidence=0.95)
    assert wide.low <= narrow.low and narrow.high <= wide.high


def test_the_coverage_is_the_binomial_one() -> None:
    assert coverage(6, 1) == 1 - 2 / 64
    assert coverage(9, 2) == 1 - 2 * (1 + 9) / 512


def test_few_values_give_the_whole_range_with_the_coverage_that_it_has() -> None:
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.coverage) == (1.0, 3.0, 0.75)


def test_an_outlier_does_not_move_the_interval() -> None:
    calm = [1.0 + i / 100 for i in range(20)]
    assert median_interval([*calm[:-1], 1000.0]) == median_interval(calm)


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing"):
        quartiles([])
    with pytest.raises(ValueError, match="nothing"):
        median_interval([])
    with pytest.raises(ValueError, match="paired"):
        paired_ratios([1.0], [1.0, 2.0])
