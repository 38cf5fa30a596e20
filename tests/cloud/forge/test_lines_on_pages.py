from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.rendered import tilted_box
from tierocr.cloud.forge.lines_on_pages import holds, page_flags
from tierocr.shared.geometry import grow, rectangle

TOP, BOTTOM = rectangle(10, 10, 210, 40), rectangle(10, 50, 210, 80)


def test_each_line_is_judged_by_what_was_read_inside_it() -> None:
    printed = [("Total 12", TOP), ("Tax", BOTTOM)]
    assert page_flags(printed, [("Tax", BOTTOM), ("Total12", grow(TOP, 3, 2))]) == (True, True)
    assert page_flags(printed, [("Total 13", TOP)]) == (False, False)
    assert page_flags([], [("noise", TOP)]) == ()


def test_a_line_that_was_split_is_read() -> None:
    parts = [("12", rectangle(150, 12, 200, 40)), ("Total", rectangle(12, 12, 100, 40))]
    assert page_flags([("Total 12", TOP)], parts) == (True,)


def test_a_line_that_was_joined_with_another_is_not() -> None:
    beside = rectangle(300, 10, 600, 40)
    joined = [("Total 12 Due", rectangle(10, 10, 600, 40))]
    assert page_flags([("Total 12", TOP), ("Due", beside)], joined) == (False, False)


@given(
    st.floats(20, 500),
    st.floats(5, 40),
    st.floats(-30, 30),
    st.floats(-0.49, 0.49),
    st.floats(-0.49, 0.49),
)
def test_a_tilted_quad_holds_its_own_points_only(
    width: float, height: float, degrees: float, along: float, across: float
) -> None:
    quad = tilted_box(width, height, degrees)
    (ax, ay), (bx, by), _, (dx, dy) = quad
    for outside in (0.0, 1.1):
        x = (bx - ax) * along + (dx - ax) * (across + outside)
        y = (by - ay) * along + (dy - ay) * (across + outside)
        assert holds(quad, (x, y)) is (outside == 0)
