"""A folded leaflet in very small print, two columns: glyphs of 8 to 9 pixels."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import BLACK, Canvas, Sheet
from tierocr.cloud.forge.sample_pages.dense_text import SECTIONS, TITLE
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.wrapping import wrap

_WIDTH, _MARGIN, _GAP, _LEADING = 760, 34, 28, 15
_COLUMN = (_WIDTH - 2 * _MARGIN - _GAP) // 2


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The leaflet, one page; `rng` only sets the batch number."""
    rows = _rows()
    half = -(-len(rows) // 2)
    # A heading never stands alone at the foot of a column.
    half -= rows[half - 1][0]
    height = 80 + _LEADING * max(half, len(rows) - half) + 40
    canvas = Canvas(_WIDTH, height)
    canvas.text(_WIDTH / 2, 42, TITLE, load("sans-bold", 17), "ms")
    canvas.rule(_MARGIN, 56, _WIDTH - _MARGIN, 56)
    for column, part in enumerate((rows[:half], rows[half:])):
        x = _MARGIN + column * (_COLUMN + _GAP)
        for row, (heading, text) in enumerate(part):
            indent = 0 if heading or not text.startswith("\u3000") else 20
            font = load("sans-bold", 11) if heading else load("sans", 10)
            canvas.text(x + indent, 80 + _LEADING * row, text.strip("\u3000"), font)
    middle = _MARGIN + _COLUMN + _GAP // 2
    canvas.rule(middle, 68, middle, height - 36, BLACK)
    canvas.rule(_MARGIN, height - 30, _WIDTH - _MARGIN, height - 30)
    batch = f"批号 Lot NK31{rng.integers(1000, 9999)}-A  版本 Rev. 3.2 (2031-07)"
    canvas.text(_MARGIN, height - 14, batch, load("sans", 10))
    canvas.text(_WIDTH - _MARGIN, height - 14, "第 1 页", load("sans", 10), "rs")
    return (canvas.finish(),)


def _rows() -> list[tuple[bool, str]]:
    """All lines in order: whether it is a heading, and its text; a new paragraph is indented."""
    rows: list[tuple[bool, str]] = []
    font = load("sans", 10)
    for heading, paragraphs in SECTIONS:
        rows.append((True, heading))
        for paragraph in paragraphs:
            first, *others = wrap(paragraph, font, _COLUMN, indent=20)
            rows.append((False, "\u3000" + first))
            rows.extend((False, line) for line in others)
    return rows
