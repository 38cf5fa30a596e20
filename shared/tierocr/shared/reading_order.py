"""In which order people read the lines of a page.

Pure; knows quads only. Everything is measured in median text heights, never in pixels, so that
scale and a few pixels of skew change nothing. Columns of prose are read one after the other;
tables, forms and receipts go row by row; vertical Chinese and Japanese columns go from right to
left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierocr.shared.document import Quad
from tierocr.shared.geometry import bounds, centre, quad_size, reading_angle

ROW_OVERLAP = 0.5
"""Two boxes stand in one row when they share this much of the lower one's height."""

GUTTER = 1.0
"""Least width of the white space between two columns, in text heights."""

PROSE_LINES = 4
"""A column of prose has at least so many lines, each at least `PROSE_WIDTH` text heights wide."""

PROSE_WIDTH = 7.0


@dataclass(frozen=True, slots=True)
class _Box:
    index: int
    x0: float
    y0: float
    x1: float
    y1: float


def reading_order(quads: Sequence[Quad]) -> list[int]:
    """Indices of the quads in reading order: a total order, the same for any order of the input
    boxes.
    """
    ranked = sorted(range(len(quads)), key=lambda i: quads[i])
    return [ranked[i] for i in _order_of_sorted([quads[i] for i in ranked])]


def _order_of_sorted(quads: Sequence[Quad]) -> list[int]:
    if not quads:
        return []
    vertical = [i for i, q in enumerate(quads) if _is_vertical(q)]
    if len(vertical) > len(quads) / 2:
        return sorted(range(len(quads)), key=lambda i: (-_column_of(quads, i), centre(quads[i])[1]))
    unit = float(np.median([quad_size(q)[1] for q in quads])) or 1.0
    tilt = _tilt(quads)
    boxes = [_Box(i, *bounds(_level(q, tilt))) for i, q in enumerate(quads)]
    return [b.index for b in _order(boxes, unit)]


def _order(boxes: list[_Box], unit: float) -> list[_Box]:
    """Recursive XY-cut: rows of white space first, then gutters between columns of prose."""
    if len(boxes) < 2:
        return boxes
    blocks = _cut_rows(boxes, 0.0)
    if len(blocks) > 1:
        runs = _join_columns(blocks, unit)
        if len(runs) > 1:
            return [b for run in runs for b in _order(run, unit)]
        boxes = runs[0]
    columns = _cut_columns(boxes, _gutters(boxes, unit), unit)
    if len(columns) > 1:
        return [b for column in columns for b in _order(column, unit)]
    return [b for row in _rows(boxes) for b in row]


def _join_columns(blocks: list[list[_Box]], unit: float) -> list[list[_Box]]:
    """Neighbouring blocks that together form columns of prose stay together, the others stand
    alone.
    """
    runs: list[list[_Box]] = []
    start = 0
    while start < len(blocks):
        stop = start + 1
        best = stop
        joined = list(blocks[start])
        while stop < len(blocks):
            joined += blocks[stop]
            stop += 1
            cuts = _gutters(joined, unit)
            if not cuts:
                break
            if len(_cut_columns(joined, cuts, unit)) > 1:
                best = stop
        runs.append([b for block in blocks[start:best] for b in block])
        start = best
    return runs


def _cut_rows(boxes: list[_Box], least: float) -> list[list[_Box]]:
    """Groups separated by empty horizontal stripes, from top to bottom."""
    groups: list[list[_Box]] = []
    bottom = -np.inf
    for box in sorted(boxes, key=lambda b: (b.y0, b.x0)):
        inset = 0.2 * (box.y1 - box.y0)  # ascenders of one line may touch descenders of the last
        if box.y0 + inset > bottom + least:
            groups.append([])
        groups[-1].append(box)
        bottom = max(bottom, box.y1 - inset)
    return groups


def _gutters(boxes: list[_Box], unit: float) -> list[float]:
    """The middles of all vertical white stripes at least `GUTTER` wide."""
    found, right = [], None
    for box in sorted(boxes, key=lambda b: b.x0):
        if right is not None and box.x0 - right >= GUTTER * unit:
            found.append((box.x0 + right) / 2)
        right = box.x1 if right is None else max(right, box.x1)
    return found


def _cut_columns(boxes: list[_Box], cuts: list[float], unit: float) -> list[list[_Box]]:
    """Columns from left to right, parted at `cuts`, if every one of them looks like prose, else
    the boxes as they are.
    """
    if not cuts:
        return [boxes]
    columns: list[list[_Box]] = [[] for _ in range(len(cuts) + 1)]
    for box in boxes:
        columns[bisect_left(cuts, box.x0)].append(box)
    return columns if all(_is_prose(c, unit) for c in columns) else [boxes]


def _is_prose(column: list[_Box], unit: float) -> bool:
    if len(column) < PROSE_LINES or len(_rows(column)) < PROSE_LINES:
        return False
    width = max(b.x1 for b in column) - min(b.x0 for b in column)
    wide = float(np.median([b.x1 - b.x0 for b in column]))
    return wide >= PROSE_WIDTH * unit and wide >= 0.5 * width


def _rows(boxes: list[_Box]) -> list[list[_Box]]:
    """Boxes grouped by rows from top to bottom, each from left to right."""
    rows: list[list[_Box]] = []
    for box in sorted(boxes, key=lambda b: ((b.y0 + b.y1) / 2, b.x0, b.index)):
        if rows and _same_row(rows[-1], box):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda b: (b.x0, b.y0, b.index)) for row in rows]


def _same_row(row: list[_Box], box: _Box) -> bool:
    anchor = min(row, key=lambda b: abs((b.x0 + b.x1) / 2 - (box.x0 + box.x1) / 2))
    shared = min(anchor.y1, box.y1) - max(anchor.y0, box.y0)
    if shared < ROW_OVERLAP * min(anchor.y1 - anchor.y0, box.y1 - box.y0):
        return False
    return all(min(b.x1, box.x1) - max(b.x0, box.x0) < 0.5 * (box.y1 - box.y0) for b in row)


def _is_vertical(quad: Quad) -> bool:
    along, across = quad_size(quad)
    return 45 < abs(reading_angle(quad)) < 135 and along > 1.5 * across


def _column_of(quads: Sequence[Quad], index: int) -> int:
    """The number of a vertical column from the left; boxes that share most of their width share
    it.
    """
    unit = float(np.median([quad_size(q)[1] for q in quads])) or 1.0
    return sum(centre(q)[0] < centre(quads[index])[0] - 0.6 * unit for q in quads)


def _tilt(quads: Sequence[Quad]) -> float:
    """The page's skew as a slope: median of the long lines that lie nearly flat."""
    slopes = [
        (q[1][1] - q[0][1]) / (q[1][0] - q[0][0])
        for q in quads
        if quad_size(q)[0] > 5 * quad_size(q)[1] and abs(reading_angle(q)) < 20
    ]
    return float(np.median(slopes)) if slopes else 0.0


def _level(quad: Quad, tilt: float) -> Quad:
    """Shear the page's skew away."""
    a, b, c, d = ((x + tilt * y, y - tilt * x) for x, y in quad)
    return (a, b, c, d)
