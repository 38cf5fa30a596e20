"""Statistics of repeated measurements: quartiles, ratios pair by pair, an interval for a median.

Pure functions of numbers. Timings are skewed and have outliers, so everything here goes by order:
no means, no normal distribution, and no random numbers that would make two evaluations of one run
differ.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """The three quartiles of a sample, `n` values."""

    q1: float
    median: float
    q3: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where the true median lies with probability `coverage` or more."""

    low: float
    high: float
    coverage: float


def quartiles(values: Sequence[float]) -> Quartiles:
    """The quartiles of `values`, interpolated; a single value is all three."""
    if not values:
        raise ValueError("quartiles of nothing")
    if len(values) == 1:
        return Quartiles(q1=values[0], median=values[0], q3=values[0], n=1)
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return Quartiles(q1=q1, median=median, q3=q3, n=len(values))


def paired_ratios(of: Sequence[float], to: Sequence[float]) -> list[float]:
    """`of` over `to`, pair by pair: what slowed the machine for a moment slowed both of a pair."""
    if len(of) != len(to):
        raise ValueError(f"{len(of)} values cannot be paired with {len(to)}")
    return [a / b for a, b in zip(of, to, strict=True)]


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The narrowest symmetric pair of order statistics that holds the median with `confidence`.

    With fewer than six values even the whole range does not reach 95 %: then it is given, with the
    coverage that it does reach.
    """
    if not values:
        raise ValueError("an interval of nothing")
    ordered, n = sorted(values), len(values)
    ranks = [k for k in range(1, (n + 1) // 2 + 1) if coverage(n, k) >= confidence]
    rank = max(ranks, default=1)
    return Interval(low=ordered[rank - 1], high=ordered[-rank], coverage=coverage(n, rank))


def coverage(n: int, rank: int) -> float:
    """P(the median lies between the `rank`-th smallest and the `rank`-th largest of `n` values)."""
    below = sum(math.comb(n, k) for k in range(rank))
    return max(0.0, 1.0 - 2.0 * float(Fraction(below, 2**n)))
