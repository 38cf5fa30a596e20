"""One line of text as a detector's crop shows it: with its surroundings, before any wear."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from tierocr.cloud.forge.lines.looks import Look, prints
from tierocr.cloud.forge.sample_pages.canvas import Canvas, is_wide
from tierocr.cloud.forge.sample_pages.fonts import Font, load
from tierocr.shared.cropping import cut
from tierocr.shared.document import Pixels, Quad
from tierocr.shared.geometry import as_quad, grow, quad_size, scale_quad

Generator = np.random.Generator


def print_crop(rng: Generator, text: str, look: Look, other: Callable[[], str]) -> Pixels:
    """(h, w, 3) uint8 BGR; `other` gives the text of a neighbouring line."""
    font = load(look.face, look.drawn)
    sheet = _surroundings(rng, text, look, font, other)
    scale = look.size / look.drawn
    height, width = sheet[0].shape[:2]
    size = (max(1, round(width * scale * look.stretch)), max(1, round(height * scale)))
    pixels = sheet[0]
    if size != (width, height):
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    quad = scale_quad(sheet[1], size[0] / width, size[1] / height)
    return np.ascontiguousarray(cut(pixels, _as_detected(rng, quad, look)))


def _surroundings(
    rng: Generator, text: str, look: Look, font: Font, other: Callable[[], str]
) -> tuple[Pixels, Quad]:
    """The line on a strip of its page, and where it stands."""
    em = look.drawn
    canvas = Canvas(round(font.getlength(text)) + 4 * em, 5 * em, look.paper)
    x, y = 2 * em, 3 * em
    canvas.text(x, y, text, font, ink=look.ink)
    pitch = rng.uniform(1.12, 1.6) * em
    for place in (y - pitch, y + pitch):
        neighbour = other() if rng.random() < 0.4 else ""
        if neighbour and prints(look.face, wide=is_wide(neighbour)):
            canvas.text(x - rng.uniform(0, 2 * em), place, neighbour, font, ink=look.ink)
    thick = max(1, em // 16)
    if rng.random() < 0.16:
        under = y + em * rng.uniform(0.24, 0.45)
        canvas.rule(0, under, canvas.width, under, look.ink, thick)
    if rng.random() < 0.08:
        over = y - em * rng.uniform(1.0, 1.2)
        canvas.rule(0, over, canvas.width, over, look.ink, thick)
    if rng.random() < 0.1:
        beside = rng.choice([x - em * 0.35, canvas.width - 2 * em + em * 0.35])
        canvas.rule(beside, 0, beside, canvas.height, look.ink, thick)
    finished = canvas.finish()
    return finished.pixels, finished.lines[0].quad


def _as_detected(rng: Generator, quad: Quad, look: Look) -> Quad:
    """Where a detector would put the line's corners: near the ink, a little turned and uneven."""
    height = quad_size(quad)[1]
    loose = rng.random() < 0.25
    across = height * (rng.uniform(0.1, 0.3) if loose else rng.uniform(-0.03, 0.12))
    along = height * (rng.uniform(0.2, 0.7) if loose else rng.uniform(-0.02, 0.25))
    corners = np.array(grow(quad, along, across))
    if look.medium == "screen":
        return as_quad(corners + rng.uniform(-0.4, 0.4, 2))
    photo = look.medium == "photo"
    tilt = height * rng.normal(0, 0.06 if photo else 0.03)
    slant = height * rng.normal(0, 0.12 if photo else 0.03)
    corners += np.array([[slant, -tilt], [slant, tilt], [-slant, tilt], [-slant, -tilt]]) / 2
    corners += rng.normal(0, 0.035 if photo else 0.015, (4, 2)) * height
    return as_quad(corners)
