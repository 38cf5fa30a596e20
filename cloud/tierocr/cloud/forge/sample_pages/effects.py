"""What scanners, cameras and printers do to a page.

Two kinds: geometry, which moves pixels and truth by the same 3x3 matrix, and tone, which leaves
places alone. Knows nothing about what is printed.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from tierocr.cloud.forge.sample_pages.canvas import Ink, PrintedLine, Sheet
from tierocr.shared.document import Floats, Matrix3, Pixels, Quad

Array3 = NDArray[np.float64]
Generator = np.random.Generator


def move(quad: Quad, matrix: Array3) -> Quad:
    """The quad after the transform."""
    homogeneous = np.hstack([np.array(quad, dtype=np.float64), np.ones((4, 1))]) @ matrix.T
    points = homogeneous[:, :2] / homogeneous[:, 2:]
    tl, tr, br, bl = ((float(x), float(y)) for x, y in points)
    return (tl, tr, br, bl)


def warp(sheet: Sheet, matrix: Array3, size: tuple[int, int], fill: Ink) -> Sheet:
    """Move a sheet into a frame of (width, height); what it does not cover is `fill`."""
    # OpenCV counts pixel centres, the truth counts pixel edges: half a pixel between them.
    half: Matrix3 = ((1, 0, 0.5), (0, 1, 0.5), (0, 0, 1))
    centred = np.linalg.inv(np.array(half)) @ matrix @ np.array(half)
    moved = cv2.warpPerspective(
        sheet.pixels, centred, size, flags=cv2.INTER_CUBIC, borderValue=fill[::-1]
    )
    return Sheet(pixels=np.asarray(moved, dtype=np.uint8), lines=_moved(sheet, matrix))


def skew(sheet: Sheet, degrees: float, fill: Ink) -> Sheet:
    """Turn the content clockwise about the centre; the frame stays."""
    height, width = sheet.pixels.shape[:2]
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    x, y = width / 2, height / 2
    matrix = np.array(
        [
            [cosine, -sine, x - cosine * x + sine * y],
            [sine, cosine, y - sine * x - cosine * y],
            [0.0, 0.0, 1.0],
        ]
    )
    return warp(sheet, matrix, (width, height), fill)


def quarter_turn(sheet: Sheet) -> Sheet:
    """Turn the whole frame clockwise by 90 degrees, pixel for pixel."""
    height = sheet.pixels.shape[0]
    matrix = np.array([[0.0, -1.0, height], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return Sheet(
        pixels=np.ascontiguousarray(np.rot90(sheet.pixels, -1)), lines=_moved(sheet, matrix)
    )


def to_quad(width: int, height: int, corners: Quad) -> Array3:
    """The perspective that puts a width x height sheet onto four corners."""
    source = np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(source, np.array(corners, dtype=np.float32))
    return np.asarray(matrix, dtype=np.float64)


def blur(pixels: Pixels, sigma: float) -> Pixels:
    """Soften, as optics and slow feet do."""
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), sigma), dtype=np.uint8)


def grain(pixels: Pixels, rng: Generator, sigma: float) -> Pixels:
    """Sensor noise, the same on all three channels."""
    noise = rng.normal(0.0, sigma, pixels.shape[:2]).astype(np.float32)
    return to_bytes(pixels.astype(np.float32) + noise[:, :, None])


def speckle(pixels: Pixels, rng: Generator, count: int) -> Pixels:
    """Dust on the glass: small dark and light dots."""
    dusty = np.array(pixels, dtype=np.uint8)
    height, width = pixels.shape[:2]
    for _ in range(count):
        place = (int(rng.integers(width)), int(rng.integers(height)))
        tone = int(rng.choice([60, 110, 150, 250]))
        cv2.circle(dusty, place, int(rng.integers(0, 2)), (tone, tone, tone), -1)
    return dusty


def light(pixels: Pixels, field: Floats) -> Pixels:
    """Multiply by a field of brightness, 1 = unchanged."""
    return to_bytes(pixels.astype(np.float32) * field[:, :, None])


def patches(rng: Generator, size: tuple[int, int], cells: int, low: float, high: float) -> Floats:
    """A smooth random field of (width, height) between `low` and `high`."""
    coarse = rng.uniform(low, high, (cells, cells)).astype(np.float32)
    smooth = cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(np.clip(smooth, low, high), dtype=np.float32)


def to_bytes(values: Floats) -> Pixels:
    """Clip and round to uint8."""
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)


def _moved(sheet: Sheet, matrix: Array3) -> tuple[PrintedLine, ...]:
    return tuple(PrintedLine(text=row.text, quad=move(row.quad, matrix)) for row in sheet.lines)
