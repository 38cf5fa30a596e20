"""Where lines stand to each other, whatever the page's tilt: in the frame of one of them. Pure.

In the frame of a quad the origin is its TL corner, `along` runs in reading direction and `across`
from line to line, both in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tierocr.shared.document import Quad
from tierocr.shared.geometry import as_quad, quad_size

GAP = 3.0
"""Pieces of one number or label stand no further apart, in heights of the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box in the frame of a quad."""

    left: float
    top: float
    right: float
    bottom: float

    def share_of(self, other: Box) -> float:
        """How much of the smaller of two boxes lies in the other, 0..1."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        smaller = min(self._area(), other._area())
        return max(0.0, width) * max(0.0, height) / smaller if smaller > 0 else 0.0

    def _area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


class Frame:
    """The frame of a quad; `along`, `across`: its size in pixels."""

    def __init__(self, quad: Quad) -> None:
        """See the module."""
        corners = np.asarray(quad, dtype=np.float64)
        axis = corners[1] + corners[2] - corners[0] - corners[3]
        length = float(np.hypot(*axis))
        self._u = axis / length if length > 0 else np.array([1.0, 0.0])
        self._v = np.array([-self._u[1], self._u[0]])
        self._origin = corners[0]
        self.along, self.across = quad_size(quad)

    def boxes(self, quads: Sequence[Quad]) -> list[Box]:
        """The boxes around quads."""
        corners = np.asarray(quads, dtype=np.float64).reshape(-1, 4, 2) - self._origin
        places = np.stack([corners @ self._u, corners @ self._v], axis=2)
        return [_box(low, high) for low, high in zip(places.min(1), places.max(1), strict=True)]

    def quad(self, box: Box) -> Quad:
        """A box of the frame on the page."""
        corners = (
            (box.left, box.top),
            (box.right, box.top),
            (box.right, box.bottom),
            (box.left, box.bottom),
        )
        return as_quad([self._origin + a * self._u + b * self._v for a, b in corners])


def chains(quads: Sequence[Quad]) -> list[list[int]]:
    """Lines that stand close behind each other in one row, by index, in reading direction; a line
    that stands alone is a chain of one.
    """
    following: dict[int, int] = {}
    for i, quad in enumerate(quads):
        frame = Frame(quad)
        near = [
            (box.left, j)
            for j, box in enumerate(frame.boxes(quads))
            if j != i and _behind(frame, box)
        ]
        if near:
            following[i] = min(near)[1]
    found, begun = [], set(following.values())
    for first in [i for i in range(len(quads)) if i not in begun]:
        chain = [first]
        while (after := following.get(chain[-1])) is not None and after not in chain:
            chain.append(after)
        found.append(chain)
    alone = set(range(len(quads))) - {i for chain in found for i in chain}
    return [*found, *([i] for i in sorted(alone))]


def below(upper: Quad, lowers: Sequence[Quad]) -> list[int]:
    """In which of some lines a line may go on, as they stand in the row right under it."""
    if not lowers:
        return []
    frame = Frame(upper)
    near = (0.5 * frame.across, 2.5 * frame.across)
    return [
        i
        for i, box in enumerate(frame.boxes(lowers))
        if near[0] < box.top < near[1] and box.left < frame.along and box.right > 0
    ]


def _behind(frame: Frame, box: Box) -> bool:
    height = frame.across
    middle = (box.top + box.bottom) / 2
    close = frame.along - height / 2 <= box.left <= frame.along + GAP * height
    return close and 0 < middle < height and box.bottom - box.top < 2.5 * height


def _box(low: NDArray[np.float64], high: NDArray[np.float64]) -> Box:
    return Box(left=float(low[0]), top=float(low[1]), right=float(high[0]), bottom=float(high[1]))
