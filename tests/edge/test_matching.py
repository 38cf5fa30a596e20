"""Read lines against what is known to stand on a page."""

from __future__ import annotations

import math

from tests.fakes.cloud import reading
from tests.fakes.lines import read_line
from tierocr.edge.matching import match_truth
from tierocr.edge.merging import take
from tierocr.edge.samples import TruthLine
from tierocr.shared.document import IDENTITY, Line, Matrix3, Quad
from tierocr.shared.geometry import as_quad, rectangle, transform_quad, turned_page

TOP, BOTTOM = rectangle(0, 0, 400, 40), rectangle(0, 50, 400, 90)
TRUTH = (TruthLine(text="Total 12.50", quad=TOP), TruthLine(text="谢谢惠顾", quad=BOTTOM))


def spelled(text: str, quad: Quad) -> Line:
    """A line with its characters."""
    return take(read_line(text, quad=quad), reading("0", text), quad)


def test_white_space_does_not_count() -> None:
    lines = [spelled("Total12.50", TOP), spelled("谢谢 惠顾", BOTTOM)]
    match = match_truth(lines, TRUTH, IDENTITY)
    assert match.exact == 2
    assert [match.truth_of(line) for line in lines] == ["Total 12.50", "谢谢惠顾"]


def test_a_wrong_character_counts_against_its_own_line_only() -> None:
    lines = [spelled("Total 12.60", TOP), spelled("谢谢惠顾", BOTTOM)]
    assert match_truth(lines, TRUTH, IDENTITY).exact == 1


def test_split_and_joined_lines() -> None:
    parts = [
        spelled("12.50", rectangle(200, 0, 400, 40)),
        spelled("Total", rectangle(0, 0, 190, 40)),
    ]
    match = match_truth(parts, TRUTH, IDENTITY)
    assert match.exact == 1
    assert [match.truth_of(p) for p in parts] == ["Total 12.50"] * 2
    halves = (
        TruthLine(text="Total", quad=rectangle(0, 0, 195, 40)),
        TruthLine(text="12.50", quad=rectangle(205, 0, 400, 40)),
    )
    evenly = spelled("Total12.50", TOP)
    assert match_truth([evenly], halves, IDENTITY).exact == 2


def test_what_stands_elsewhere_belongs_to_nothing() -> None:
    stray = spelled("Total 12.50", rectangle(0, 200, 400, 240))
    match = match_truth([stray], TRUTH, IDENTITY)
    assert match.exact == 0 and match.truth_of(stray) is None
    assert match_truth([], TRUTH, IDENTITY).exact == 0


def test_a_line_without_characters_counts_as_a_whole() -> None:
    line = read_line("Total 12.50", quad=TOP)
    assert match_truth([line], TRUTH, IDENTITY).exact == 1


def test_a_turned_page_is_matched_where_it_was_stored() -> None:
    to_stored: Matrix3 = turned_page(400, 90, 1)
    inverse = _inverse(to_stored)
    turned = [
        spelled("Total 12.50", transform_quad(inverse, TOP)),
        spelled("谢谢惠顾", transform_quad(inverse, BOTTOM)),
    ]
    assert match_truth(turned, TRUTH, to_stored).exact == 2


def test_a_tilted_line() -> None:
    a = math.radians(8)
    turn: Matrix3 = (
        (math.cos(a), -math.sin(a), 100.0),
        (math.sin(a), math.cos(a), 100.0),
        (0.0, 0.0, 1.0),
    )
    truth = tuple(TruthLine(text=t.text, quad=transform_quad(turn, t.quad)) for t in TRUTH)
    lines = [spelled(t.text, as_quad(t.quad)) for t in truth]
    assert match_truth(lines, truth, IDENTITY).exact == 2


def _inverse(matrix: Matrix3) -> Matrix3:
    (a, b, c), (d, e, f), _ = matrix
    n = a * e - b * d
    return (
        (e / n, -b / n, (b * f - c * e) / n),
        (-d / n, a / n, (c * d - a * f) / n),
        (0.0, 0.0, 1.0),
    )
