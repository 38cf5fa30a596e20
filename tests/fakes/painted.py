"""Text that a fake network can read: each letter is a block of grey.

A letter is 16 pixels wide, then 8 white ones follow. The upper part of a block is a little lighter,
so that the fake can tell upside down from upright, as a real network does by its doubts. A block of
`POISON` makes the network fail, and with it the whole batch.
"""

from __future__ import annotations

import cv2
import numpy as np

from tierocr.shared.document import Pixels

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HEIGHT = 48
POISON = "!"
POISON_LEVEL = 200
_BLOCK, _GAP, _MARGIN = 16, 8, 8


def paint(text: str) -> Pixels:
    """A crop of one line."""
    width = 2 * _MARGIN + len(text) * (_BLOCK + _GAP)
    crop = np.full((HEIGHT, width, 3), 255, dtype=np.uint8)
    for i, letter in enumerate(text):
        left = _MARGIN + i * (_BLOCK + _GAP)
        level = POISON_LEVEL if letter == POISON else 4 * LETTERS.index(letter)
        crop[:, left : left + _BLOCK] = level
        crop[: HEIGHT // 3, left : left + _BLOCK] = level + 2
    return crop


def png(pixels: Pixels) -> bytes:
    """The picture as a PNG file."""
    return cv2.imencode(".png", pixels)[1].tobytes()
