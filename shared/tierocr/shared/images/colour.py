"""Pixels of any kind -> blue, green, red with 8 bits each, without losing text.

Wide values are scaled to what they use, transparency is laid on a background that its contents
stand out from. Works in bands of rows, so that a large page needs no second full-size copy in a
wider type. This module must not know about files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import Pixels

_BAND_PIXELS = 4_000_000
_WIDE_MODES = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")
_FULL_SCALES = (255, 1023, 4095, 16383, 65535)
_BACKGROUNDS = (255, 0, 128)  # white, black, grey; the first that hides next to nothing wins
_CONTRAST = 64
_HIDDEN_AT_MOST = 0.05

_ReadBand = Callable[[int, int], NDArray[np.uint8]]
"""Rows start..end of an image as (rows, W, 4) uint8 red, green, blue, alpha."""


def bgr_of_image(image: Image.Image, *, inverted: bool = False) -> Pixels:
    """Convert a loaded Pillow image of any mode to (H, W, 3) uint8 BGR.

    `inverted`: its wide values mean white at zero.
    """
    if image.mode in _WIDE_MODES:
        return _bgr_of_wide(image, inverted)
    width, height = image.size
    if image.has_transparency_data:

        def read(start: int, end: int) -> NDArray[np.uint8]:
            return np.asarray(image.crop((0, start, width, end)).convert("RGBA"))

        return _flatten(read, width, height)
    if image.mode == "LAB":
        image = image.getchannel(
            "L"
        )  # Pillow has no conversion; lightness is what carries the text
    pixels = np.empty((height, width, 3), np.uint8)
    for start, end in _bands(width, height):
        band = np.asarray(image.crop((0, start, width, end)).convert("RGB"))
        cv2.cvtColor(band, cv2.COLOR_RGB2BGR, dst=pixels[start:end])
    return pixels


def bgr_of_bgra(stored: NDArray[np.uint8]) -> Pixels:
    """Lay (H, W, 4) uint8 BGRA on a background. Returns (H, W, 3) uint8 BGR."""

    def read(start: int, end: int) -> NDArray[np.uint8]:
        return np.ascontiguousarray(stored[start:end, :, [2, 1, 0, 3]])

    return _flatten(read, stored.shape[1], stored.shape[0])


def _bands(width: int, height: int) -> Iterator[tuple[int, int]]:
    rows = max(1, _BAND_PIXELS // width)
    for start in range(0, height, rows):
        yield start, min(start + rows, height)


def _flatten(read: _ReadBand, width: int, height: int) -> Pixels:
    background = _choose_background(read, width, height)
    pixels = np.empty((height, width, 3), np.uint8)
    for start, end in _bands(width, height):
        band = read(start, end).astype(np.uint16)
        alpha = band[:, :, 3:]
        mixed = (band[:, :, 2::-1] * alpha + background * (255 - alpha) + 127) // 255
        pixels[start:end] = mixed
    return pixels


def _choose_background(read: _ReadBand, width: int, height: int) -> int:
    """Pick the background grey that hides least of what stands on it.

    Only pixels that are visible and touch something less visible are weighed: the inside of an
    opaque page does not meet its background.
    """
    histogram = np.zeros(256)
    for start, end in _bands(width, height):
        band = read(start, end)
        alpha = np.ascontiguousarray(band[:, :, 3])
        if alpha.min() == 255:
            continue
        openness = 255 - cv2.erode(alpha, np.ones((3, 3), np.uint8))
        weights = alpha.astype(np.float32) * openness
        grey = cv2.cvtColor(band, cv2.COLOR_RGBA2GRAY)
        histogram += np.bincount(grey.ravel(), weights.ravel(), minlength=256)
    total = histogram.sum()
    if total == 0:
        return _BACKGROUNDS[0]
    levels = np.arange(256)
    hidden = {
        background: float(histogram[np.abs(levels - background) < _CONTRAST].sum() / total)
        for background in _BACKGROUNDS
    }
    for background in _BACKGROUNDS:
        if hidden[background] <= _HIDDEN_AT_MOST:
            return background
    return min(_BACKGROUNDS, key=hidden.__getitem__)


def _bgr_of_wide(image: Image.Image, inverted: bool) -> Pixels:
    width, height = image.size
    low, high = _value_range(image)
    factor = 255.0 / (high - low) if high > low else 0.0
    pixels = np.empty((height, width, 3), np.uint8)
    for start, end in _bands(width, height):
        band = np.asarray(image.crop((0, start, width, end))).astype(np.float64)
        band = np.nan_to_num(band, nan=low, posinf=high, neginf=low)
        grey = np.clip(np.rint((band - low) * factor), 0, 255).astype(np.uint8)
        cv2.cvtColor(255 - grey if inverted else grey, cv2.COLOR_GRAY2BGR, dst=pixels[start:end])
    return pixels


def _value_range(image: Image.Image) -> tuple[float, float]:
    """Find the values that mean black and white.

    The smallest usual full scale that holds all values: 12-bit data in a 16-bit file would be
    almost black otherwise. Values that fit none (negative, huge) are stretched from their minimum
    to their maximum.
    """
    width, height = image.size
    low, high = np.inf, -np.inf
    for start, end in _bands(width, height):
        band = np.asarray(image.crop((0, start, width, end)))
        finite = band[np.isfinite(band)] if image.mode == "F" else band
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    if low > high:
        return 0.0, 0.0
    scales = (1, *_FULL_SCALES) if image.mode == "F" else _FULL_SCALES
    if low >= 0 and high <= scales[-1]:
        return 0.0, float(next(scale for scale in scales if high <= scale))
    return low, high
