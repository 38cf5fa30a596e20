"""Which printed lines of a page were found and read exactly: plane geometry, pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierocr.cloud.forge.gate import comparable
from tierocr.shared.document import Point, Quad
from tierocr.shared.geometry import centre

TextAt = tuple[str, Quad]
"""A text and its quad, TL TR BR BL in pixels of the page."""


def page_flags(printed: Sequence[TextAt], found: Sequence[TextAt]) -> tuple[bool, ...]:
    """For each printed line, whether what was read inside it says exactly the same.

    What was read belongs to the first printed line whose quad holds its centre; several parts of
    one line count as joined in reading direction. A line that was split is read, then, and one
    that was joined with another column is not.
    """
    parts: list[list[tuple[float, str]]] = [[] for _ in printed]
    for text, quad in found:
        middle = centre(quad)
        for index, (_, place) in enumerate(printed):
            if holds(place, middle):
                parts[index].append((_along(place, middle), text))
                break
    read = ["".join(text for _, text in sorted(pieces)) for pieces in parts]
    wanted = [text for text, _ in printed]
    return tuple(comparable(a) == comparable(b) for a, b in zip(read, wanted, strict=True))


def holds(quad: Quad, point: Point) -> bool:
    """Whether a point lies in a convex quad with clockwise corners, its border included."""
    corners = np.asarray(quad, dtype=np.float64)
    sides = np.roll(corners, -1, axis=0) - corners
    offsets = np.asarray(point) - corners
    return bool(np.all(sides[:, 0] * offsets[:, 1] - sides[:, 1] * offsets[:, 0] >= 0))


def _along(quad: Quad, point: Point) -> float:
    """How far along the reading direction, in pixels."""
    corners = np.asarray(quad, dtype=np.float64)
    direction = corners[1] - corners[0]
    distance = np.dot(np.asarray(point) - corners[0], direction)
    return float(distance / max(1e-9, float(np.linalg.norm(direction))))
