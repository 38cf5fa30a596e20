"""Plane geometry of quads: corner order, sizes, transforms, slices, overlap.

Pure functions of numbers; must not know about images, networks or documents beyond the value types.
Points are (x, y) in pixels, y down. The corner order of a `Quad` is TL, TR, BR, BL in reading
direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tierocr.shared.document import Matrix3, Point, Quad

COLUMN_ASPECT = 1.5
"""A region this much taller than wide is read from top to bottom (the PP-OCR rule for turning a
crop).
"""

Array = NDArray[np.float64]


def as_quad(points: Iterable[Iterable[float]]) -> Quad:
    """Four (x, y) pairs as a hashable value, in the order given. Raises ValueError if not four
    pairs.
    """
    a, b, c, d = ((float(x), float(y)) for x, y in points)
    return (a, b, c, d)


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Quad:
    """The axis-aligned quad of a box."""
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def bounds(quad: Quad) -> tuple[float, float, float, float]:
    """The box (x0, y0, x1, y1) around a quad."""
    xs, ys = [p[0] for p in quad], [p[1] for p in quad]
    return min(xs), min(ys), max(xs), max(ys)


def quad_size(quad: Quad) -> tuple[float, float]:
    """(length along the reading direction, height across it): means of opposite sides, in
    pixels.
    """
    tl, tr, br, bl = quad
    return (math.dist(tl, tr) + math.dist(bl, br)) / 2, (math.dist(tl, bl) + math.dist(tr, br)) / 2


def centre(quad: Quad) -> Point:
    """The mean of the four corners."""
    return sum(p[0] for p in quad) / 4, sum(p[1] for p in quad) / 4


def area(quad: Quad) -> float:
    """Area in square pixels (shoelace formula)."""
    total = 0.0
    for (ax, ay), (bx, by) in zip(quad, quad[1:] + quad[:1], strict=True):
        total += ax * by - bx * ay
    return abs(total) / 2


def direction(quad: Quad) -> Point:
    """The reading direction as a vector, twice as long as the quad."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = quad
    return bx + cx - ax - dx, by + cy - ay - dy


def reading_angle(quad: Quad) -> float:
    """Degrees in (-180, 180] by which the reading direction is turned clockwise from the x axis."""
    x, y = direction(quad)
    return math.degrees(math.atan2(y, x))


def order_corners(points: Iterable[Iterable[float]]) -> Quad:
    """Order the corners of a rectangle by its own axes, so that a tilt never picks the wrong
    corner.

    The side nearest to the x axis is the reading direction, left to right, unless the rectangle is
    more than `COLUMN_ASPECT` times taller than wide: then it is read downwards and TL is the top
    right corner.
    """
    corners = as_quad(points)
    mid_x, mid_y = centre(corners)
    # clockwise, as y runs down
    around = sorted(corners, key=lambda p: math.atan2(p[1] - mid_y, p[0] - mid_x))
    after = around[1:] + around[:1]
    sides = [(bx - ax, by - ay) for (ax, ay), (bx, by) in zip(around, after, strict=True)]
    lengths = [math.hypot(x, y) for x, y in sides]
    # the one nearest to the x axis
    flat = max(range(4), key=lambda i: sides[i][0] / max(lengths[i], 1e-9))
    along = (lengths[flat] + lengths[(flat + 2) % 4]) / 2
    across = (lengths[(flat + 1) % 4] + lengths[(flat + 3) % 4]) / 2
    start = flat + 1 if across > COLUMN_ASPECT * along else flat
    return turn(as_quad(around), start)


def turn(quad: Quad, quarter_turns: int) -> Quad:
    """The same four corners with the reading direction turned clockwise by so many right angles."""
    k = quarter_turns % 4
    return quad[k:] + quad[:k]  # type: ignore[return-value]


def grow(quad: Quad, along: float, across: float) -> Quad:
    """Move each end out by `along` pixels and each long side out by `across` pixels."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = quad
    ux, uy = _unit(*direction(quad))
    vx, vy = -uy, ux
    if (dx + cx - ax - bx) * vx + (dy + cy - ay - by) * vy < 0:
        vx, vy = -vx, -vy
    ux, uy, vx, vy = ux * along, uy * along, vx * across, vy * across
    return (
        (ax - ux - vx, ay - uy - vy),
        (bx + ux - vx, by + uy - vy),
        (cx + ux + vx, cy + uy + vy),
        (dx - ux + vx, dy - uy + vy),
    )


def slice_quad(quad: Quad, start: float, end: float) -> Quad:
    """The part of a quad between two fractions (0 = left end, 1 = right end) of its reading
    direction.
    """
    tl, tr, br, bl = quad
    return (_mix(tl, tr, start), _mix(tl, tr, end), _mix(bl, br, end), _mix(bl, br, start))


def span(quads: Iterable[Quad]) -> Quad:
    """The quad from the first quad's left end to the last quad's right end."""
    all_quads = list(quads)
    first, last = all_quads[0], all_quads[-1]
    return (first[0], last[1], last[2], first[3])


def perspective(source: Quad, target: Quad) -> Matrix3:
    """The homography that takes the four corners of `source` to those of `target`.

    Direct linear transform with h33 = 1 (Hartley and Zisserman, Multiple View Geometry, 4.1).
    Raises ValueError if three source corners stand on one line.
    """
    rows, right = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    try:
        h = np.linalg.solve(np.array(rows, dtype=np.float64), np.array(right, dtype=np.float64))
    except np.linalg.LinAlgError as error:
        raise ValueError("three corners on one line have no perspective transform") from error
    return as_matrix(np.append(h, 1.0).reshape(3, 3))


def as_matrix(values: Array) -> Matrix3:
    """A (3, 3) array as a hashable value."""
    a, b, c = (tuple(float(v) for v in row) for row in values)
    return (a, b, c)  # type: ignore[return-value]


def compose(outer: Matrix3, inner: Matrix3) -> Matrix3:
    """The transform that applies `inner` first, then `outer`."""
    return as_matrix(np.asarray(outer) @ np.asarray(inner))


def transform_quad(matrix: Matrix3, quad: Quad) -> Quad:
    """Apply a homogeneous transform to each corner."""
    p = np.c_[np.asarray(quad, dtype=np.float64), np.ones(4)] @ np.asarray(matrix).T
    return as_quad(p[:, :2] / p[:, 2:3])


def scale_quad(quad: Quad, sx: float, sy: float, dx: float = 0.0, dy: float = 0.0) -> Quad:
    """Scale a quad about the origin, then shift it."""
    return as_quad([(x * sx + dx, y * sy + dy) for x, y in quad])


def box_overlap(a: Quad, b: Quad) -> float:
    """Shared area of the two bounding boxes over the area of the smaller one, 0..1."""
    ax0, ay0, ax1, ay1 = bounds(a)
    bx0, by0, bx1, by1 = bounds(b)
    shared = max(0.0, min(ax1, bx1) - max(ax0, bx0)) * max(0.0, min(ay1, by1) - max(ay0, by0))
    smaller = min((ax1 - ax0) * (ay1 - ay0), (bx1 - bx0) * (by1 - by0))
    return shared / smaller if smaller > 0 else 0.0


def turned_page(width: int, height: int, quarter_turns: int) -> Matrix3:
    """Pixels of a page turned clockwise by so many right angles -> pixels of the page before."""
    return {
        0: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        1: ((0.0, 1.0, 0.0), (-1.0, 0.0, float(height)), (0.0, 0.0, 1.0)),
        2: ((-1.0, 0.0, float(width)), (0.0, -1.0, float(height)), (0.0, 0.0, 1.0)),
        3: ((0.0, -1.0, float(width)), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    }[quarter_turns % 4]


def _mix(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def _unit(x: float, y: float) -> Point:
    length = math.hypot(x, y)
    return (x / length, y / length) if length > 1e-9 else (1.0, 0.0)
