"""A two-page report in Chinese and English: a PDF of images, as an office copier makes it."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import BLACK, GREY, Canvas, Sheet
from tierocr.cloud.forge.sample_pages.effects import blur
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.report_text import PAGES, TABLE, TABLE_CAPTION
from tierocr.cloud.forge.sample_pages.wrapping import wrap

_WIDTH, _HEIGHT = 1650, 2350
"""Very nearly A4 at 200 dots per inch, and a whole number of points, so that no renderer rounds."""
_LEFT, _RIGHT = 200, 1450
_RUNNING = "南柯市社区图书馆数字化试点报告 · Pilot Report 2031"
_COLUMNS = (200, 620, 900, 1180, 1450)


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """Both pages; `rng` only sets the document number."""
    number = f"NK-LIB-{rng.integers(1000, 9999)}"
    return tuple(_page(index, blocks, number) for index, blocks in enumerate(PAGES))


def _page(index: int, blocks: tuple[tuple[str, str], ...], number: str) -> Sheet:
    canvas = Canvas(_WIDTH, _HEIGHT)
    small = load("serif", 22)
    canvas.text(_LEFT, 150, _RUNNING, small, ink=GREY)
    canvas.text(_RIGHT, 150, number, small, "rs", GREY)
    canvas.rule(_LEFT, 166, _RIGHT, 166, GREY, 2)
    y = 260
    for kind, text in blocks:
        y = _block(canvas, y, kind, text)
    canvas.text(_WIDTH / 2, 2210, f"- {index + 1} -", load("serif", 26), "ms")
    sheet = canvas.finish()
    return Sheet(pixels=blur(sheet.pixels, 0.6), lines=sheet.lines)


def _block(canvas: Canvas, y: int, kind: str, text: str) -> int:
    """Set one block with its first baseline at `y`; returns the next block's baseline."""
    if kind == "title":
        canvas.text(_WIDTH / 2, y, text, load("serif-bold", 52), "ms")
        return y + 74
    if kind == "subtitle":
        canvas.text(_WIDTH / 2, y, text, load("serif", 32), "ms")
        return y + 96
    if kind == "heading":
        canvas.text(_LEFT, y + 20, text, load("sans-bold", 34))
        return y + 84
    if kind == "table":
        return _table(canvas, y)
    chinese = kind == "zh"
    font, leading = (load("serif", 30), 54) if chinese else (load("serif", 29), 48)
    indent = 60 if chinese else 0
    for row, line in enumerate(wrap(text, font, _RIGHT - _LEFT, indent)):
        canvas.text(_LEFT + (indent if row == 0 else 0), y, line, font)
        y += leading
    return y + 22


def _table(canvas: Canvas, y: int) -> int:
    canvas.text(_WIDTH / 2, y, TABLE_CAPTION, load("sans", 26), "ms")
    ys = [y + 24 + 58 * row for row in range(len(TABLE) + 1)]
    for edge, width in ((ys[0], 4), (ys[1], 2), (ys[-1], 4)):
        canvas.rule(_LEFT, edge, _RIGHT, edge, BLACK, width)
    for row, cells in enumerate(TABLE):
        font = load("sans-bold" if row == 0 else "sans", 26)
        canvas.text(_COLUMNS[0] + 20, ys[row] + 39, cells[0], font)
        for right, cell in zip(_COLUMNS[2:], cells[1:], strict=True):
            canvas.text(right - 20, ys[row] + 39, cell, font, "rs")
    return ys[-1] + 76
