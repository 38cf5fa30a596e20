"""How a generated line or page looks: typeface, size, inks and what carries it. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import Ink
from tierocr.cloud.forge.sample_pages.fonts import Typeface

Generator = np.random.Generator
Medium = Literal["print", "scan", "photo", "screen", "thermal", "fax"]
MEDIA: tuple[Medium, ...] = ("print", "scan", "photo", "screen", "thermal", "fax")

_SHARES = (0.12, 0.30, 0.20, 0.18, 0.11, 0.09)
_WIDE: tuple[Typeface, ...] = ("sans", "sans-bold", "serif", "serif-bold", "mono-cjk")
_NARROW: tuple[Typeface, ...] = ("mono", "mono-bold")  # without ideographs
_LEAST_DRAWN = 26  # smaller print is drawn larger and scaled down, as a scanner sees it


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one line is printed and seen.

    `size`: pixels per em in the picture. `drawn`: pixels per em while drawing. `stretch`: width
    over its normal width. `ink`, `paper`: red, green, blue.
    """

    medium: Medium
    face: Typeface
    size: float
    drawn: int
    stretch: float
    ink: Ink
    paper: Ink


def any_medium(rng: Generator) -> Medium:
    """What carries the text, drawn by how often documents come that way."""
    return MEDIA[int(rng.choice(len(MEDIA), p=_SHARES))]


def any_look(rng: Generator, *, wide: bool, medium: Medium) -> Look:
    """A look for one line; `wide`: whether the face must have ideographs."""
    low, high = {"screen": (11, 28), "thermal": (14, 32), "fax": (18, 38)}.get(medium, (10.5, 40))
    size = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    if medium == "screen":  # drawn by the screen's own pixels
        size = float(round(size))
    drawn = round(size) if medium == "screen" else round(max(size, _LEAST_DRAWN))
    plain = medium in ("screen", "fax") or rng.random() < 0.6
    ink, paper = any_inks(rng, medium)
    return Look(
        medium=medium,
        face=any_face(rng, wide=wide, medium=medium),
        size=size,
        drawn=drawn,
        stretch=1.0 if plain else float(rng.uniform(0.82, 1.15)),
        ink=ink,
        paper=paper,
    )


def any_face(rng: Generator, *, wide: bool, medium: Medium) -> Typeface:
    """A typeface that can print the text on this medium."""
    faces: Sequence[Typeface] = _WIDE if wide else (*_WIDE, *_NARROW)
    if medium == "thermal":
        faces = ("sans", "mono-cjk") if wide else ("mono", "mono-bold", "sans")
    return faces[int(rng.integers(len(faces)))]


def prints(face: Typeface, *, wide: bool) -> bool:
    """Whether a typeface has the characters of a text; `wide`: it has ideographs."""
    return not wide or face in _WIDE


def any_inks(rng: Generator, medium: Medium) -> tuple[Ink, Ink]:
    """Ink and paper."""
    if medium == "screen":
        return _screen_inks(rng)
    if medium == "thermal":
        tone = int(rng.integers(60, 110))
        return (tone, tone - 4, tone + 14), _shade(rng, 212, 240, warmth=16)
    if medium == "fax":
        return (0, 0, 0), (255, 255, 255)
    paper = _shade(rng, 226, 255, warmth=12)
    chance = rng.random()
    if chance < 0.12:  # a tinted form
        paper = _tint(rng, 190, 250)
    elif chance < 0.17 and medium != "scan":  # white on a coloured bar
        return _shade(rng, 236, 255), _tint(rng, 30, 130)
    ink = _shade(rng, 10, 90)
    if rng.random() < 0.15:
        ink = _tint(rng, 10, 130)
    return ink, paper


def _screen_inks(rng: Generator) -> tuple[Ink, Ink]:
    if rng.random() < 0.35:
        return _tint(rng, 190, 255), _tint(rng, 15, 80)
    return _tint(rng, 0, 95), _tint(rng, 215, 255)


def _shade(rng: Generator, low: int, high: int, warmth: int = 0) -> Ink:
    """A grey, yellowed by up to `warmth`."""
    tone, yellow = int(rng.integers(low, high + 1)), int(rng.integers(0, warmth + 1))
    return (tone, max(0, tone - yellow // 3), max(0, tone - yellow))


def _tint(rng: Generator, low: int, high: int) -> Ink:
    red, green, blue = (int(value) for value in rng.integers(low, high + 1, 3))
    return (red, green, blue)
