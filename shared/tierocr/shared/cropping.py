"""Cutting a quad out of a page as an upright picture of one line.

Pure functions of arrays; must not know about networks or files.
"""

from __future__ import annotations

import cv2
import numpy as np

from tierocr.shared.document import Pixels, Quad
from tierocr.shared.geometry import bounds, grow, perspective, quad_size, rectangle

STRAIGHT = 0.02
"""A quad whose corners lie within this many of its heights of its bounding box is cut without
warping.
"""


def cut(pixels: Pixels, quad: Quad) -> Pixels:
    """The quad's content at the page's own scale: (h, w, 3) uint8, reading left to right.

    Pixels outside the page repeat its border. The result is at least 1 x 1; it may be a view of
    `pixels`.
    """
    along, across = quad_size(quad)
    if along < 1 or across < 1:
        quad = grow(quad, max(0.0, (1 - along) / 2), max(0.0, (1 - across) / 2))
    width, height = max(1, round(along)), max(1, round(across))
    box = bounds(quad)
    if _is_straight(quad, box, across):
        x0, y0, x1, y1 = (round(v) for v in box)
        if x0 >= 0 and y0 >= 0 and x1 <= pixels.shape[1] and y1 <= pixels.shape[0]:
            view = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
            if view.size:
                return view
    matrix = np.asarray(perspective(quad, rectangle(0, 0, width, height)), dtype=np.float64)
    return cv2.warpPerspective(  # type: ignore[return-value]
        pixels, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )


def scaled_width(width: int, height: int, wanted: int) -> int:
    """The width that goes with the height `wanted`, at least 1."""
    return width if height == wanted else max(1, round(width * wanted / height))


def scale_to_height(crop: Pixels, height: int) -> Pixels:
    """Resize to a height, keeping the aspect ratio; the width is at least 1."""
    h, w = crop.shape[:2]
    if h == height:
        return crop
    width = scaled_width(w, h, height)
    how = cv2.INTER_AREA if h > height else cv2.INTER_LINEAR
    return cv2.resize(crop, (width, height), interpolation=how)  # type: ignore[return-value]


def shrink_to_height(crop: Pixels, height: int) -> Pixels:
    """Like `scale_to_height`, but a smaller crop stays as it is: nothing is ever enlarged."""
    return crop if crop.shape[0] <= height else scale_to_height(crop, height)


def half_turn(crop: Pixels) -> Pixels:
    """The crop upside down."""
    return np.ascontiguousarray(crop[::-1, ::-1])


def _is_straight(quad: Quad, box: tuple[float, float, float, float], across: float) -> bool:
    x0, y0, x1, y1 = box
    tolerance = max(0.5, STRAIGHT * across)
    corners = rectangle(x0, y0, x1, y1)
    return all(
        abs(p[0] - c[0]) <= tolerance and abs(p[1] - c[1]) <= tolerance
        for p, c in zip(quad, corners, strict=True)
    )
