"""Which stated resolution is believable, and square pixels where x and y differ. Pure."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from tierocr.shared.document import Pixels
from tierocr.shared.images.limits import Limits

_LOWEST, _HIGHEST = 50.0, 1200.0
_SQUARE_WITHIN = 1.02
_WIDEST_RATIO = 4.0  # fax runs at 204 x 98; anything past this is a wrong tag, not a scanner

Density = tuple[float, float]
"""Dots per inch along x and y."""


def believable(density: Any, per_inch: float = 1.0) -> Density | None:
    """Return a stated resolution when it can be true, else None. Accepts whatever a file may say.

    `density`: a pair of numbers along x and y; `per_inch`: what makes dots per inch of them.
    """
    try:
        x, y = (round(float(value) * per_inch, 2) for value in density)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    if not (_LOWEST <= x <= _HIGHEST and _LOWEST <= y <= _HIGHEST):
        return None
    return (x, y) if max(x, y) <= _WIDEST_RATIO * min(x, y) else None


def make_square(
    pixels: Pixels, density: Density, limits: Limits
) -> tuple[Pixels, float, tuple[str, ...]]:
    """Resample a page whose pixels are not square.

    `pixels`: (H, W, 3) uint8. Returns the pixels, their dots per inch in both directions, and
    warnings. Takes the finer resolution, or the coarser where the limits do not allow more pixels.
    """
    x, y = density
    if max(x, y) <= _SQUARE_WITHIN * min(x, y):
        return pixels, max(x, y), ()
    height, width = pixels.shape[:2]
    for dpi in (max(x, y), min(x, y)):
        size = max(1, round(width * dpi / x)), max(1, round(height * dpi / y))
        if limits.allow_size(*size):
            break
    finer = size[0] * size[1] > width * height
    resized = cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR if finer else cv2.INTER_AREA)
    warning = f"pixels of {x:g} x {y:g} dpi were made square at {dpi:g} dpi"
    return np.asarray(resized, dtype=np.uint8), dpi, (warning,)
