from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.lines import read_line
from tests.fakes.secrets import misread, number
from tierocr.edge.privacy.fields import Reach
from tierocr.edge.privacy.fuzzy import cleaned, find
from tierocr.edge.privacy.patterns import NAMED, template
from tierocr.edge.privacy.rules import LeaveRules, Zone, forbidden
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.shared.document import Line
from tierocr.shared.geometry import rectangle
from tierocr.shared.settings import Section

NUMBERS = LeaveRules(patterns=tuple(template(n) for n in ("cn_id", "bank_card", "phone_cn")))


def line(text: str, left: float = 50, top: float = 50, width: float = 300) -> Line:
    return read_line(text, quad=rectangle(left, top, left + width, top + 20))


def hidden(rules: LeaveRules, *lines: Line) -> set[int]:
    return set(forbidden(lines, 1000, 1000, rules).lines)


# -- text that may be misread ------------------------------------------------------------------


@given(st.text("abc", max_size=12), st.text("abc", min_size=1, max_size=5), st.integers(0, 2))
def test_what_is_found_is_within_the_distance_and_nothing_is_missed(
    text: str, wanted: str, wrong: int
) -> None:
    spans = find([frozenset(c) for c in wanted], text, wrong)
    near = {
        (start, end)
        for end in range(1, len(text) + 1)
        for start in range(end + 1)
        if distance(text[start:end], wanted) <= wrong
    }
    assert set(spans) <= near
    assert {end for _, end in spans} == {end for _, end in near}


def distance(a: str, b: str) -> int:
    """Levenshtein's, by its definition."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


@given(st.integers(0, 10**6), st.integers(0, 2), st.sampled_from(["", "卡号", "card no. "]))
def test_a_number_with_two_wrong_characters_stays(seed: int, wrong: int, before: str) -> None:
    draw = random.Random(seed)
    assert hidden(NUMBERS, line(before + misread(number(draw), wrong, draw))) == {0}


@pytest.mark.parametrize(
    "text",
    ["合计 12.50 元", "2026-12-01", "the paper cup and a plate", "¥1,280.00", "No. 0042"],
)
def test_what_is_no_such_number_may_leave(text: str) -> None:
    assert hidden(NUMBERS, line(text)) == set()


def test_widths_cases_and_lookalikes_make_no_difference() -> None:
    full = "１１０１０１ １９９００３０７ ８８８ｘ"
    assert hidden(NUMBERS, line(full), line("IIOlOl-I99OO3O7-B88X", top=200)) == {0, 1}
    assert cleaned("  Ｎａｍｅ： ") == "name"


def test_a_number_in_pieces_or_in_two_rows_stays_as_a_whole() -> None:
    pieces = [
        line(p, left=50 + 90 * i, width=60) for i, p in enumerate(("6222", "0212", "3456", "78"))
    ]
    assert hidden(NUMBERS, *pieces, line("thank you", top=300)) == {0, 1, 2, 3}
    far = [
        line(p, left=50 + 250 * i, width=60) for i, p in enumerate(("6222", "0212", "3456", "78"))
    ]
    assert hidden(NUMBERS, *far) == set()
    assert hidden(NUMBERS, line("account 62220212"), line("345678 of today", top=75)) == {0, 1}


# -- fields ------------------------------------------------------------------------------------

NAME = LeaveRules(labels=("Full name",), reach=Reach(right=20, below=2))


def test_what_stands_right_of_a_label_or_below_it_stays() -> None:
    lines = (
        line("Fu11 name:", width=110),
        line("Li Lei", left=200, width=80),
        line("Beijing", top=80, width=90),
        line("much further below", top=200),
        line("beyond its reach", left=700),
    )
    assert hidden(NAME, *lines) == {0, 1, 2}
    assert hidden(LeaveRules(labels=("Full name",), reach=Reach(right=20, below=0)), *lines) == {
        0,
        1,
    }


def test_what_only_looks_like_a_label_is_none() -> None:
    rules = LeaveRules(labels=("Name", "姓名"))
    for text in ("a brown amore and the lazy dog", "on a metre and more", "合计 12.50 元"):
        assert hidden(rules, line(text, width=600), line("below it", top=80)) == set()
    for text in (
        "Name",
        "Nane: Li",
        "Surname",
        "?Name",
        "N ame: Li",
        "Na me",
        "姓 各",
        "Your name Li",
    ):
        assert 0 in hidden(rules, line(text)), text


def test_columns_of_numbers_may_leave() -> None:
    column = [line(f"{n * 7919 % 90000 + 10000}", top=50 + 30 * n, width=60) for n in range(20)]
    assert hidden(NUMBERS, *column) == set()


def test_a_label_in_two_pieces_is_found() -> None:
    rules = LeaveRules(labels=("姓名",))
    lines = (line("姓", width=20), line("名", left=100, width=20), line("李雷", left=150, width=60))
    assert hidden(rules, *lines) == {0, 1, 2}


def test_a_place_is_hidden_even_if_nothing_was_found_there() -> None:
    found = forbidden([line("Full name", width=110)], 1000, 1000, NAME)
    assert any(p[1][0] > 500 for p in found.polygons), "right of it"


# -- settings ----------------------------------------------------------------------------------


def test_a_source_adds_to_what_holds_for_all() -> None:
    settings = PrivacySettings.model_validate(
        {
            "allow": "never",
            "labels": ["Name"],
            "sources": [
                {"source": "desk", "allow": "lines", "zones": [{"box": [0, 0, 1, 0.5]}]},
                {"source": "door", "patterns": ["phone_cn"]},
            ],
        }
    )
    desk, door = settings.rules_of("desk"), settings.rules_of("door")
    assert (desk.allow, door.allow, settings.rules_of("other").allow) == ("lines", "never", "never")
    assert desk.labels == door.labels == ("Name",)
    assert desk.zones[0].on(200, 100) == ((0, 0), (200, 0), (200, 50), (0, 50))
    assert door.patterns == (template("phone_cn"),)


def test_a_zone_in_pixels_is_where_it_says() -> None:
    assert Zone(points=((1, 2), (3, 4), (5, 6)), unit="pixels").on(9, 9) == ((1, 2), (3, 4), (5, 6))


@pytest.mark.parametrize(
    "wrong",
    [
        {"zones": [{}]},
        {"zones": [{"box": [0, 0, 2, 1]}]},
        {"zones": [{"box": [0.5, 0, 0.4, 1]}]},
        {"zones": [{"polygon": [[0, 0], [1, 1]]}]},
        {"labels": [":"]},
        {"patterns": ["999"]},
        {"patterns": ["99999[12"]},
        {"sources": [{"source": "a"}, {"source": "a"}]},
    ],
)
def test_rules_that_would_protect_nothing_are_refused(wrong: dict[str, object]) -> None:
    assert issubclass(PrivacySettings, Section)
    with pytest.raises(ValueError):
        PrivacySettings.model_validate(wrong)


def test_every_named_pattern_can_be_written() -> None:
    assert all(len(template(name)) >= 6 for name in NAMED)
    assert template("AB999999")[1] == frozenset("b")
