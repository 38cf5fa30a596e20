"""What a medium does to the print on its way to a recogniser. Places stay; tones change."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from tierocr.cloud.forge.lines.looks import Medium
from tierocr.cloud.forge.sample_pages.effects import (
    blur,
    grain,
    light,
    patches,
    speckle,
    to_bytes,
)
from tierocr.shared.document import Floats, Pixels

Generator = np.random.Generator

_LEAST_SIZE = 9.0  # text below this many pixels per em cannot be read by anybody


def worn(pixels: Pixels, rng: Generator, medium: Medium, size: float) -> Pixels:
    """(h, w, 3) uint8 BGR after the medium; `size`: pixels per em of its text."""
    return np.ascontiguousarray(_MEDIA[medium](pixels, rng, size))


def faded(pixels: Pixels, strength: Floats) -> Pixels:
    """Ink that vanishes: `strength` (h, w), 1 = unchanged, 0 = only paper is left."""
    paper = np.median(pixels.reshape(-1, 3), axis=0).astype(np.float32)
    inked = pixels.astype(np.float32) - paper
    return to_bytes(np.asarray(paper + inked * strength[:, :, None], dtype=np.float32))


def resampled(pixels: Pixels, factor: float) -> Pixels:
    """Shrunk by `factor` (0..1) and enlarged again: a picture saved too small."""
    height, width = pixels.shape[:2]
    small = (max(1, round(width * factor)), max(1, round(height * factor)))
    reduced = cv2.resize(pixels, small, interpolation=cv2.INTER_AREA)
    enlarged = cv2.resize(reduced, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(enlarged, dtype=np.uint8)


def compressed(pixels: Pixels, quality: int) -> Pixels:
    """Saved as JPEG and opened again."""
    _, data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), dtype=np.uint8)


def smeared(pixels: Pixels, length: int, down: bool) -> Pixels:
    """Motion of `length` pixels during the exposure."""
    shape = (length, 1) if down else (1, length)
    kernel = np.full(shape, 1 / length, dtype=np.float32)
    moved = cv2.filter2D(pixels, -1, kernel, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(moved, dtype=np.uint8)


def _print(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    if rng.random() < 0.5:
        pixels = blur(pixels, float(rng.uniform(0.2, 0.5)))
    return compressed(pixels, int(rng.integers(60, 97)))


def _scan(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    if rng.random() < 0.35:
        pixels = faded(pixels, _field(pixels, rng, size, float(rng.uniform(0.35, 0.8)), 1.0))
    pixels = _maybe_resampled(pixels, rng, size, 0.25)
    pixels = blur(pixels, _softness(rng, size, 0.02, 0.055))
    pixels = light(pixels, _field(pixels, rng, size, float(rng.uniform(0.75, 0.95)), 1.0))
    if rng.random() < 0.2:
        pixels = speckle(pixels, rng, 1 + pixels.shape[0] * pixels.shape[1] // 900)
    pixels = grain(pixels, rng, float(rng.uniform(1, 9)))
    if rng.random() < 0.6:
        grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))
        pixels = np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
    return compressed(pixels, int(rng.integers(28, 90)))


def _photo(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    pixels = _maybe_resampled(pixels, rng, size, 0.3)
    pixels = blur(pixels, _softness(rng, size, 0.02, 0.05))
    if rng.random() < 0.25:
        pixels = smeared(pixels, 1 + max(1, round(size * rng.uniform(0.03, 0.09))), _coin(rng))
    low = float(rng.uniform(0.35, 0.9))
    pixels = light(
        pixels, _field(pixels, rng, size, low, min(1.05, low + float(rng.uniform(0.1, 0.5))))
    )
    pixels = grain(pixels, rng, float(rng.uniform(1, 9)))
    return compressed(pixels, int(rng.integers(30, 88)))


def _screen(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    if rng.random() < 0.3:
        pixels = _maybe_resampled(pixels, rng, size, 1.0)
    if rng.random() < 0.5:
        pixels = compressed(pixels, int(rng.integers(45, 95)))
    return pixels


def _thermal(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    strength = _field(pixels, rng, size, float(rng.uniform(0.35, 0.8)), 1.0)
    width = pixels.shape[1]
    for x in rng.integers(0, width, int(rng.poisson(width / (9 * size)))):
        strength[:, x : x + max(1, round(size / 20))] *= 0.3  # a worn heating dot
    pixels = blur(faded(pixels, strength), _softness(rng, size, 0.02, 0.05))
    pixels = light(pixels, _field(pixels, rng, size, float(rng.uniform(0.5, 0.9)), 1.0))
    pixels = grain(pixels, rng, float(rng.uniform(2, 9)))
    return compressed(pixels, int(rng.integers(35, 88)))


def _fax(pixels: Pixels, rng: Generator, size: float) -> Pixels:
    """Black and white only: strokes break where the threshold is low, and clog where it is high."""
    soft = grain(blur(pixels, _softness(rng, size, 0.02, 0.05)), rng, float(rng.uniform(4, 28)))
    level = float(rng.uniform(110, 175))
    black = soft[:, :, :1] < level
    two_tone = np.where(black, 0, 255).astype(np.uint8)
    return np.repeat(two_tone, 3, axis=2)


_MEDIA: dict[Medium, Callable[[Pixels, Generator, float], Pixels]] = {
    "print": _print,
    "scan": _scan,
    "photo": _photo,
    "screen": _screen,
    "thermal": _thermal,
    "fax": _fax,
}


def _field(pixels: Pixels, rng: Generator, size: float, low: float, high: float) -> Floats:
    """A smooth field (h, w) between `low` and `high`, as wide as several lines are high."""
    height, width = pixels.shape[:2]
    tall = max(height, round(10 * size))
    top = int(rng.integers(0, tall - height + 1))
    return patches(rng, (width, tall), 4, low, high)[top : top + height]


def _softness(rng: Generator, size: float, low: float, high: float) -> float:
    """The blur's sigma in pixels: in proportion to the text, never under a fifth of a pixel."""
    return max(0.2, float(rng.uniform(low, high)) * size)


def _maybe_resampled(pixels: Pixels, rng: Generator, size: float, chance: float) -> Pixels:
    least = _LEAST_SIZE / size
    if least >= 0.9 or rng.random() >= chance:
        return pixels
    return resampled(pixels, float(rng.uniform(max(least, 0.45), 0.95)))


def _coin(rng: Generator) -> bool:
    return bool(rng.random() < 0.5)
