"""Printed text made on the spot, with the stroke fonts that OpenCV brings along."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from tierocr.shared.document import Pixels, Quad
from tierocr.shared.geometry import as_quad

FONTS = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_COMPLEX)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:-/"


def blank(width: int, height: int) -> Pixels:
    """A white page."""
    return np.full((height, width, 3), 255, dtype=np.uint8)


def write(
    pixels: Pixels, text: str, x: int, y: int, *, scale: float = 1.0, thick: int = 2, font: int = 0
) -> None:
    """Print a line; (x, y) is the left end of its base line."""
    cv2.putText(pixels, text, (x, y), font, scale, (0, 0, 0), thick, cv2.LINE_AA)


def line_crop(
    text: str, *, scale: float = 1.0, thick: int = 2, font: int = 0, margin: int = 4
) -> Pixels:
    """One line of text with a little white around it."""
    (width, height), below = cv2.getTextSize(text, font, scale, thick)
    crop = blank(width + 2 * margin, height + below + 2 * margin)
    write(crop, text, margin, height + margin, scale=scale, thick=thick, font=font)
    return crop


def page_of(
    lines: Sequence[str],
    *,
    width: int = 900,
    height: int = 700,
    scale: float = 1.0,
    step: int = 80,
    thick: int = 2,
) -> Pixels:
    """A page with one line under the other, the first base line at `step`."""
    page = blank(width, height)
    for i, text in enumerate(lines):
        write(page, text, 60, (i + 1) * step, scale=scale, thick=thick)
    return page


def random_crops(count: int, seed: int) -> list[Pixels]:
    """Lines of every length, size, font and noise."""
    random = np.random.default_rng(seed)
    crops = []
    for _ in range(count):
        text = "".join(random.choice(list(LETTERS), int(random.integers(1, 45))))
        clean = line_crop(
            text,
            scale=float(random.uniform(0.4, 1.7)),
            thick=int(random.integers(1, 3)),
            font=FONTS[int(random.integers(len(FONTS)))],
        )
        noise = random.normal(0, random.uniform(0, 30), clean.shape)
        crops.append(np.clip(clean - np.abs(noise), 0, 255).astype(np.uint8))
    return crops


def tilted(pixels: Pixels, degrees: float) -> Pixels:
    """The page turned clockwise about its middle, white where there was nothing."""
    height, width = pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 1.0)
    turned = cv2.warpAffine(pixels, matrix, (width, height), borderValue=(255, 255, 255))
    return np.asarray(turned, dtype=np.uint8)


def tilted_box(
    width: float, height: float, degrees: float, centre: tuple[float, float] = (0.0, 0.0)
) -> Quad:
    """A rectangle turned clockwise; its corners go on from the one that was top left."""
    t = math.radians(degrees)
    ux, uy = math.cos(t), math.sin(t)
    return as_quad(
        (
            centre[0] + sx * ux * width / 2 - sy * uy * height / 2,
            centre[1] + sx * uy * width / 2 + sy * ux * height / 2,
        )
        for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    )
