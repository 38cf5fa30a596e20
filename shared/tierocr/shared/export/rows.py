"""Lines that stand side by side in one printed row; shared by the text-like exporters. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tierocr.shared.document import Line
from tierocr.shared.geometry import bounds


def rows_of(lines: Sequence[Line]) -> list[list[Line]]:
    """Consecutive lines grouped into rows; reading order is kept as it is."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and _continues(rows[-1][-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _continues(left: Line, right: Line) -> bool:
    """Whether the right line starts after the left one ends and shares half of its height."""
    lx0, ly0, lx1, ly1 = bounds(left.region.quad)
    rx0, ry0, _, ry1 = bounds(right.region.quad)
    shared = min(ly1, ry1) - max(ly0, ry0)
    height = min(ly1 - ly0, ry1 - ry0)
    return rx0 >= lx1 - 0.5 * height and rx0 > lx0 and shared >= 0.5 * height
