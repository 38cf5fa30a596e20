"""Labelled pages from a seed: generated lines in columns, on a till roll or on a screen.

Page i depends on the seed and i only. They calibrate detectors and are what a detector's gate
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from tierocr.cloud.forge.lines.charset import allowed_characters
from tierocr.cloud.forge.lines.looks import Medium, any_face, any_inks
from tierocr.cloud.forge.lines.wear import worn
from tierocr.cloud.forge.lines.wording import any_kind, phrase
from tierocr.cloud.forge.sample_pages.canvas import Canvas, Ink, Sheet, is_wide
from tierocr.cloud.forge.sample_pages.effects import skew, to_quad, warp
from tierocr.cloud.forge.sample_pages.fonts import Font, load
from tierocr.shared.geometry import as_quad

Generator = np.random.Generator

_NOT_ON_PAGES = ("random_zh",)  # nobody prints pages of them
_LAYOUTS: tuple[tuple[Medium, ...], ...] = (
    ("print", "scan", "scan", "photo", "fax"),  # a document
    ("thermal", "photo", "scan"),  # a receipt
    ("screen",),
)


def generate_pages(
    seed: int, count: int, *, charset: Collection[str] | None = None
) -> Iterator[Sheet]:
    """Pages 0 to count - 1 of a seed. `charset`: see `generate_lines`.

    Raises TierocrError `not_found` when a font is missing, `model_invalid` when the pack is.
    """
    allowed = allowed_characters(charset)
    for index in range(count):
        yield _page(np.random.default_rng([seed, index, 1]), allowed)


def _page(rng: Generator, allowed: Collection[str]) -> Sheet:
    layout = int(rng.choice(len(_LAYOUTS), p=(0.6, 0.25, 0.15)))
    media = _LAYOUTS[layout]
    medium = media[int(rng.integers(len(media)))]
    ink, paper = any_inks(rng, medium)
    draw = (_document, _receipt, _screen)[layout]

    def words() -> str:
        while (kind := any_kind(rng)) in _NOT_ON_PAGES:
            pass
        return phrase(rng, kind, allowed)

    sheet, size = draw(rng, medium, (ink, paper), words)
    moved = _moved(rng, sheet, medium, paper)
    return Sheet(pixels=worn(moved.pixels, rng, medium, size), lines=moved.lines)


def _document(
    rng: Generator, medium: Medium, inks: tuple[Ink, Ink], words: Callable[[], str]
) -> tuple[Sheet, float]:
    """A heading over one or two columns of lines, some of them ruled."""
    size, columns = int(rng.integers(15, 27)), int(rng.integers(1, 3))
    width, margin = int(rng.integers(900, 1241)), int(rng.integers(50, 110))
    pitch = round(size * rng.uniform(1.35, 2.1))
    rows = int(rng.integers(20, 46)) // columns + 1
    height = max(3 * margin + pitch * rows, round(width * rng.uniform(0.7, 1.41)))
    canvas = Canvas(width, height, inks[1])
    head = _fonts(rng, medium, round(size * rng.uniform(1.2, 1.8)))
    _put(canvas, (margin, margin + size), words(), head, width - 2 * margin, inks[0])
    column = (width - 2 * margin - (columns - 1) * 40) // columns
    ruled = rng.random() < 0.3
    for left in (margin + (column + 40) * number for number in range(columns)):
        fonts = _fonts(rng, medium, size)
        for row in range(rows):
            y = 2 * margin + size + row * pitch
            _put(canvas, (left, y), words(), fonts, column, inks[0])
            if ruled:
                under = y + round(0.3 * pitch)
                canvas.rule(left, under, left + column, under, inks[0])
    return canvas.finish(), float(size)


def _receipt(
    rng: Generator, medium: Medium, inks: tuple[Ink, Ink], words: Callable[[], str]
) -> tuple[Sheet, float]:
    """A narrow roll; here and there an amount stands at the right."""
    size, margin = int(rng.integers(17, 29)), 30
    width, pitch = size * int(rng.integers(18, 26)), round(size * rng.uniform(1.3, 1.7))
    rows = int(rng.integers(20, 36))
    canvas = Canvas(width, 2 * margin + pitch * (rows + 1), inks[1])
    fonts = _fonts(rng, medium, size)
    for row in range(rows):
        y, amount = margin + size + row * pitch, rng.random() < 0.3
        room = width - 2 * margin - (8 * size if amount else 0)
        _put(canvas, (margin, y), words(), fonts, room, inks[0])
        if amount:
            value = f"{10 ** rng.uniform(0, 4):.2f}"
            canvas.text(width - margin, y, value, fonts(value), "rs", inks[0])
    return canvas.finish(), float(size)


def _screen(
    rng: Generator, medium: Medium, inks: tuple[Ink, Ink], words: Callable[[], str]
) -> tuple[Sheet, float]:
    """Windows of lines in the screen's own pixels."""
    size, width = int(rng.integers(12, 21)), int(rng.integers(800, 1300))
    pitch, rows = round(size * rng.uniform(1.5, 2.4)), int(rng.integers(14, 26))
    canvas = Canvas(width, 40 + pitch * (rows + 1), inks[1])
    border = width // int(rng.integers(2, 5))
    fonts = _fonts(rng, medium, size)
    for left, right in ((16, border - 8), (border + 16, width - 16)):
        canvas.box(left - 10, 8, right + 4, canvas.height - 8, inks[0])
        for row in range(rows):
            if rng.random() < 0.8:
                place = (left, 24 + size + row * pitch)
                _put(canvas, place, words(), fonts, right - left, inks[0])
    return canvas.finish(), float(size)


def _fonts(rng: Generator, medium: Medium, size: int) -> Callable[[str], Font]:
    """One typeface for wide and one for narrow text."""
    wide = load(any_face(rng, wide=True, medium=medium), size)
    narrow = load(any_face(rng, wide=False, medium=medium), size)
    return lambda text: wide if is_wide(text) else narrow


def _put(
    canvas: Canvas,
    place: tuple[int, int],
    text: str,
    fonts: Callable[[str], Font],
    room: int,
    ink: Ink,
) -> None:
    """Print as much of the text as fits into `room` pixels, at least one character."""
    font = fonts(text)
    while len(text) > 1 and font.getlength(text) > room:
        shorter = text[: max(1, int(len(text) * room / font.getlength(text)))].rstrip()
        text = shorter if len(shorter) < len(text) else text[:-1].rstrip()
    canvas.text(*place, text, font, ink=ink)


def _moved(rng: Generator, sheet: Sheet, medium: Medium, paper: Ink) -> Sheet:
    """Laid askew on the glass, or photographed at an angle."""
    height, width = sheet.pixels.shape[:2]
    if medium in ("scan", "fax", "thermal"):
        return skew(sheet, float(rng.normal(0, 0.7)), paper)
    if medium == "photo":
        corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float64)
        inwards = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * (width, height)
        corners += inwards * rng.uniform(0, 0.03, (4, 2))
        return warp(sheet, to_quad(width, height, as_quad(corners)), (width, height), paper)
    return sheet
