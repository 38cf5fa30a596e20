"""Vertical writing: a column of upright glyphs re-laid as a row that a line recogniser can read.

Pure functions of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from tierocr.shared.document import Pixels
from tierocr.shared.recognition import Reading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Restacked:
    """`row`: the glyph cells side by side. `cells`: (start, end) of each cell as fractions of the
    column.
    """

    row: Pixels
    cells: tuple[tuple[float, float], ...]


def restack(column: Pixels) -> Restacked | None:
    """(h, w, 3) crop of an upright column -> its glyphs in a row; None where no two glyphs are
    found.
    """
    height, width = column.shape[:2]
    spans = _glyph_spans(column)
    if len(spans) < 2:
        return None
    cells = []
    for top, bottom in spans:
        glyph = column[top:bottom]
        lack = max(0, width - glyph.shape[0])
        cells.append(
            cv2.copyMakeBorder(glyph, lack // 2, lack - lack // 2, 1, 1, cv2.BORDER_REPLICATE)
        )
    tall = max(c.shape[0] for c in cells)
    row: Pixels = np.hstack(
        [cv2.copyMakeBorder(c, 0, tall - c.shape[0], 0, 0, cv2.BORDER_REPLICATE) for c in cells]
    )
    return Restacked(row=row, cells=tuple((t / height, b / height) for t, b in spans))


def unstack(reading: Reading, restacked: Restacked) -> Reading:
    """Move a row's glyphs to where their cells stand in the column (fractions from its top)."""
    count = len(restacked.cells)
    moved = []
    for glyph in reading.glyphs:
        middle = (glyph.start + glyph.end) / 2
        start, end = restacked.cells[min(int(middle * count), count - 1)]
        moved.append(replace(glyph, start=start, end=end))
    return replace(reading, glyphs=tuple(moved))


def _glyph_spans(column: Pixels) -> list[tuple[int, int]]:
    """Rows of each glyph: ink runs, pieces shorter than a glyph joined, joined glyphs cut apart."""
    height, width = column.shape[:2]
    grey = cv2.cvtColor(column, cv2.COLOR_BGR2GRAY).astype(np.float32)
    background = float(np.median(np.concatenate([grey[:, 0], grey[:, -1]])))
    ink = np.abs(grey - background)
    profile = (ink > max(24.0, 0.35 * float(ink.max()))).sum(axis=1)
    runs = _runs(profile > 0)
    merged: list[tuple[int, int]] = []
    for top, bottom in runs:
        if merged and bottom - merged[-1][0] <= 1.05 * width:
            merged[-1] = (merged[-1][0], bottom)
        else:
            merged.append((top, bottom))
    spans: list[tuple[int, int]] = []
    for top, bottom in merged:
        parts = max(1, round((bottom - top) / width))
        edges = [top + (bottom - top) * k // parts for k in range(parts + 1)]
        spans += list(zip(edges, edges[1:], strict=False))
    return [(max(0, t - 1), min(height, b + 1)) for t, b in spans if b - t >= 2]


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
