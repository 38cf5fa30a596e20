"""Which way up a page is, by vote of its lines; pure.

A single line is easily mistaken ("1999" upside down reads "6661"), so a page is turned only when a
clear majority of several lines reads better that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierocr.shared.document import Quad, Region
from tierocr.shared.geometry import area, quad_size, reading_angle

SURE = 0.85
"""A page whose characters are read with this mean probability as it stands is not questioned."""

SAMPLE = 12
"""How many lines vote."""

LEAD = 0.08
"""By how much a turned reading must beat the upright one to count as a vote."""

MAJORITY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One line's mean character probability under each clockwise quarter turn of the *page* that
    would make it read left to right. Missing turns count as 0.
    """

    scores: dict[int, float]


def is_column(quad: Quad) -> bool:
    """Whether a region is read downwards as it was ordered: taller than wide."""
    along, across = quad_size(quad)
    return 45 < abs(reading_angle(quad)) < 135 and along > across


def mostly_columns(regions: Sequence[Region]) -> bool:
    """Whether most of the text area stands in tall regions: a page on its side, or vertical
    writing.
    """
    total = sum(area(r.quad) for r in regions)
    tall = sum(area(r.quad) for r in regions if is_column(r.quad) and _aspect(r.quad) > 2)
    return total > 0 and tall > 0.5 * total


def sample(regions: Sequence[Region]) -> list[int]:
    """Indices of the lines that may vote: long ones of usual height, the best detected first."""
    if not regions:
        return []
    usual = float(np.median([quad_size(r.quad)[1] for r in regions]))
    fit = [
        i
        for i, r in enumerate(regions)
        if 0.5 * usual <= quad_size(r.quad)[1] <= 2 * usual and _aspect(r.quad) >= 1.5
    ]
    pool = fit or list(range(len(regions)))
    return sorted(pool, key=lambda i: (-min(_aspect(regions[i].quad), 8.0), i))[:SAMPLE]


def elect(votes: Sequence[Vote]) -> int:
    """Clockwise quarter turns that bring the page upright: 0 unless a majority clearly says
    otherwise.
    """
    if not votes:
        return 0
    counts = {0: 0, 1: 0, 2: 0, 3: 0}
    for vote in votes:
        upright = vote.scores.get(0, 0.0)
        turn, best = max(vote.scores.items(), key=lambda item: (item[1], -item[0]))
        if turn and best > upright + LEAD and best > 0.4:
            counts[turn] += 1
        else:
            counts[0] += 1
    winner = max(counts, key=lambda t: (counts[t], -t))
    return winner if counts[winner] >= MAJORITY * len(votes) else 0


def _aspect(quad: Quad) -> float:
    along, across = quad_size(quad)
    return along / max(across, 1e-6)
