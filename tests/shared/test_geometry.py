from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.fakes.rendered import tilted_box
from tierocr.shared.document import Matrix3, Point, Quad
from tierocr.shared.geometry import (
    area,
    as_quad,
    bounds,
    box_overlap,
    centre,
    compose,
    grow,
    order_corners,
    perspective,
    quad_size,
    reading_angle,
    rectangle,
    scale_quad,
    slice_quad,
    span,
    transform_quad,
    turn,
    turned_page,
)

coordinate = st.floats(-2000, 2000)
length = st.floats(5, 1500)
places = st.tuples(coordinate, coordinate)


def near(a: Quad, b: Quad, tolerance: float = 1e-6) -> bool:
    return bool(np.allclose(a, b, atol=tolerance))


def apply(matrix: Matrix3, x: float, y: float) -> Point:
    u, v, w = np.asarray(matrix) @ (x, y, 1.0)
    return float(u / w), float(v / w)


@given(
    st.floats(10, 2000), st.floats(0.02, 1.4), st.floats(-44, 44), places, st.permutations(range(4))
)
@example(300.0, 1.4, 44.0, (0.0, 0.0), [0, 1, 2, 3])
@example(300.0, 0.02, -44.0, (0.0, 0.0), [3, 1, 0, 2])
def test_lines_are_ordered_by_their_own_axis(
    along: float, aspect: float, degrees: float, where: Point, mixed: list[int]
) -> None:
    box = tilted_box(along, along * aspect, degrees, where)
    assert near(order_corners(box[i] for i in mixed), box, 1e-5)


@given(
    st.floats(10, 100), st.floats(1.6, 40), st.floats(-10, 10), places, st.permutations(range(4))
)
@example(30.0, 10.0, 10.0, (0.0, 0.0), [0, 1, 2, 3])
@example(30.0, 10.0, -10.0, (0.0, 0.0), [0, 1, 2, 3])
@example(30.0, 40.0, 2.0, (0.0, 0.0), [0, 1, 2, 3])
def test_tall_columns_read_down_from_the_top_right(
    width: float, aspect: float, degrees: float, where: Point, mixed: list[int]
) -> None:
    box = tilted_box(width, width * aspect, degrees, where)
    ordered = order_corners(box[i] for i in mixed)
    assert near(ordered, turn(box, 1), 1e-5)
    assert 79 < reading_angle(ordered) < 101


@given(st.lists(places, min_size=4, max_size=4, unique=True))
def test_the_order_of_the_input_corners_never_matters(points: list[Point]) -> None:
    middle = np.mean(points, axis=0)
    angles = sorted(math.atan2(y - middle[1], x - middle[0]) for x, y in points)
    apart = [b - a for a, b in itertools.pairwise(angles)]
    assume(min(apart) > 1e-3 and angles[-1] - angles[0] < 2 * math.pi - 1e-3)
    first = order_corners(points)
    assume(len({round(q[1][0] - q[0][0], 3) for q in (turn(first, k) for k in range(4))}) == 4)
    assert all(order_corners(p) == first for p in itertools.permutations(points))


@pytest.mark.parametrize("points", [[(1, 2)] * 4, [(0, 0), (0, 0), (9, 0), (9, 0)]])
def test_flat_boxes_are_ordered_too(points: list[Point]) -> None:
    assert sorted(order_corners(points)) == sorted(as_quad(points))


def test_a_quad_has_four_corners() -> None:
    with pytest.raises(ValueError):
        as_quad([(0, 0), (1, 0), (1, 1)])


@given(length, length, st.floats(-180, 180), places)
def test_measures_of_a_turned_box(w: float, h: float, degrees: float, where: Point) -> None:
    box = tilted_box(w, h, degrees, where)
    assert quad_size(box) == pytest.approx((w, h), rel=1e-6)
    assert area(box) == pytest.approx(w * h, rel=1e-6)
    assert centre(box) == pytest.approx(where, abs=1e-6)
    difference = (reading_angle(box) - degrees) % 360
    assert min(difference, 360 - difference) < 1e-4
    x0, y0, x1, y1 = bounds(box)
    assert x0 <= where[0] <= x1 and y0 <= where[1] <= y1


@given(length, length, st.floats(-180, 180), st.floats(0, 50), st.floats(0, 50))
def test_growing_moves_the_sides_out(
    w: float, h: float, degrees: float, along: float, across: float
) -> None:
    grown = grow(tilted_box(w, h, degrees), along, across)
    assert near(grown, tilted_box(w + 2 * along, h + 2 * across, degrees), 1e-5)


def test_a_column_grows_along_its_reading_direction() -> None:
    column = turn(rectangle(0, 0, 10, 100), 1)
    assert bounds(grow(column, 5, 1)) == pytest.approx((-1, -5, 11, 105))


@given(length, length, st.floats(-180, 180), st.integers(1, 8))
def test_slices_put_together_are_the_whole(w: float, h: float, degrees: float, n: int) -> None:
    box = tilted_box(w, h, degrees)
    parts = [slice_quad(box, i / n, (i + 1) / n) for i in range(n)]
    assert all(quad_size(p)[0] == pytest.approx(w / n, rel=1e-6) for p in parts)
    assert near(span(parts), box)
    assert all(near((a[1], a[2], a[2], a[1]), (b[0], b[3], b[3], b[0])) for a, b in _pairs(parts))


def _pairs(parts: list[Quad]) -> list[tuple[Quad, Quad]]:
    return list(itertools.pairwise(parts))


@given(
    st.tuples(length, length, st.floats(-180, 180), places),
    st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=8, max_size=8),
    st.tuples(length, length, st.floats(-180, 180), places),
)
def test_a_perspective_takes_corners_to_corners(
    a: tuple[float, float, float, Point],
    nudges: list[Point],
    b: tuple[float, float, float, Point],
) -> None:
    source, target = (
        as_quad((x + dx, y + dy) for (x, y), (dx, dy) in zip(tilted_box(*box), some, strict=True))
        for box, some in ((a, nudges[:4]), (b, nudges[4:]))
    )
    assume(all(_convex(q) for q in (source, target)))
    matrix = perspective(source, target)
    assume(max(abs(v) for row in matrix for v in row) < 1e6)
    assert near(transform_quad(matrix, source), target, 0.05)


def _convex(quad: Quad) -> bool:
    for i in range(4):
        (ax, ay), (bx, by), (cx, cy) = quad[i], quad[(i + 1) % 4], quad[(i + 2) % 4]
        if (bx - ax) * (cy - by) - (by - ay) * (cx - bx) < 2:
            return False
    return True


def test_no_perspective_of_corners_on_one_line() -> None:
    with pytest.raises(ValueError, match="one line"):
        perspective(((0, 0), (1, 0), (2, 0), (0, 5)), rectangle(0, 0, 1, 1))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(-5, 8))
def test_a_turned_page_maps_back_to_the_pixels_before(w: int, h: int, k: int) -> None:
    before = np.arange(w * h).reshape(h, w)
    after = np.rot90(before, -k)  # clockwise
    matrix = turned_page(w, h, k)
    for y in range(after.shape[0]):
        for x in range(after.shape[1]):
            u, v = apply(matrix, x + 0.5, y + 0.5)  # middles of pixels
            assert before[int(v), int(u)] == after[y, x]


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 3))
def test_turning_there_and_back_changes_nothing(w: int, h: int, k: int) -> None:
    turned = (h, w) if k % 2 else (w, h)
    there, back = turned_page(w, h, k), turned_page(*turned, -k)
    assert compose(there, back) == turned_page(w, h, 0)


@given(length, length, st.floats(-180, 180), st.integers(-6, 6))
def test_turning_a_quad_turns_its_reading_direction(
    w: float, h: float, degrees: float, k: int
) -> None:
    box = tilted_box(w, h, degrees)
    difference = (reading_angle(turn(box, k)) - degrees - 90 * k) % 360
    assert min(difference, 360 - difference) < 1e-4
    assert turn(turn(box, k), -k) == box


def test_composing_applies_the_inner_transform_first() -> None:
    grown: Matrix3 = ((2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0))
    moved: Matrix3 = ((1.0, 0.0, 5.0), (0.0, 1.0, 7.0), (0.0, 0.0, 1.0))
    assert apply(compose(grown, moved), 1, 1) == (12, 16)
    assert apply(compose(moved, grown), 1, 1) == (7, 9)
    assert scale_quad(rectangle(0, 0, 1, 2), 2, 3, 5, 7) == rectangle(5, 7, 7, 13)


def test_overlap_is_a_share_of_the_smaller_box() -> None:
    big = rectangle(0, 0, 10, 10)
    assert box_overlap(big, rectangle(5, 5, 7, 7)) == 1
    assert box_overlap(rectangle(5, 0, 15, 10), big) == 0.5
    assert box_overlap(big, rectangle(10, 0, 20, 10)) == 0
    assert box_overlap(big, rectangle(3, 3, 3, 3)) == 0
