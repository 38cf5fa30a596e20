from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.forge.gate import (
    GENERATED_LINES,
    GateLimits,
    SetOutcome,
    comparable,
    exact_flags,
    judge,
    loss_bound,
    measure,
)
from tierocr.shared.errors import TierocrError


def outcome(
    name: str,
    *,
    lines: int,
    exact: float = 0.8,
    lost: int = 0,
    won: int = 0,
    generated: bool = False,
) -> SetOutcome:
    """A set of which the reference reads a share; the candidate loses some and wins others."""
    right = round(exact * lines)
    return SetOutcome(
        name=name,
        reference=[True] * right + [False] * (lines - right),
        candidate=[False] * lost
        + [True] * (right - lost)
        + [True] * won
        + [False] * (lines - right - won),
        generated=generated,
    )


def generated(lines: int = GENERATED_LINES, **counts: float) -> SetOutcome:
    return outcome("generated", lines=lines, generated=True, **counts)  # type: ignore[arg-type]


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int]:
    """Lost, won and all lines."""
    lines = draw(st.integers(1, 20_000))
    lost = draw(st.integers(0, lines))
    return lost, draw(st.integers(0, lines - lost)), lines


def test_a_published_interval() -> None:
    # Fagerland, Lydersen and Laake (Statistics in Medicine 33, 2014, 2850-2875), airway
    # hyper-responsiveness before and after a transplantation: Tango's two-sided 95 % interval.
    assert loss_bound(1, 7, 21, 0.975) == pytest.approx(-0.026, abs=5e-4)
    assert -loss_bound(7, 1, 21, 0.975) == pytest.approx(-0.517, abs=5e-4)


@pytest.mark.parametrize("lines", [300, 4000, 16_000])
def test_no_discordant_line_still_leaves_a_bound(lines: int) -> None:
    assert lines * loss_bound(0, 0, lines) == pytest.approx(2.706, rel=0.01)


@given(counts())
def test_the_bound_is_never_below_the_loss_seen(case: tuple[int, int, int]) -> None:
    lost, won, lines = case
    assert (lost - won) / lines <= loss_bound(lost, won, lines) <= 1


@given(counts())
def test_a_line_more_lost_or_less_won_never_helps(case: tuple[int, int, int]) -> None:
    lost, won, lines = case
    bound = loss_bound(lost, won, lines)
    if lost + won < lines:
        assert loss_bound(lost + 1, won, lines) >= bound - 1e-12
    if won and lost < lines:
        assert loss_bound(lost + 1, won - 1, lines) >= bound - 1e-12


@pytest.mark.parametrize(
    ("lines", "lost", "won"),
    [(400, 0.01, 0.01), (400, 0.01, 0.001), (1000, 0.015, 0.01), (4000, 0.0055, 0.0005)],
)
def test_the_bound_covers_the_true_loss_95_times_in_100(
    lines: int, lost: float, won: float
) -> None:
    covered = 0.0
    for lost_lines in range(40):
        for won_lines in range(40):
            chance = _trinomial(lines, (lost_lines, lost), (won_lines, won))
            if chance > 1e-9 and loss_bound(lost_lines, won_lines, lines) >= lost - won:
                covered += chance
    assert covered == pytest.approx(0.95, abs=0.015)


def _trinomial(lines: int, *parts: tuple[int, float]) -> float:
    """The chance of these numbers of lines, given the chance of each."""
    rest = (lines - sum(n for n, _ in parts), 1 - sum(p for _, p in parts))
    terms = (n * math.log(p) - math.lgamma(n + 1) for n, p in (*parts, rest))
    return math.exp(math.lgamma(lines + 1) + sum(terms))


def test_losses_are_in_points_and_paired() -> None:
    loss = measure(outcome("a", lines=1000, exact=0.8, lost=12, won=7))
    assert loss.lines == 1000
    assert loss.reference == pytest.approx(80) and loss.candidate == pytest.approx(79.5)
    assert loss.loss == pytest.approx(0.5)
    assert loss.bound == pytest.approx(100 * loss_bound(12, 7, 1000))


def test_the_same_readings_pass() -> None:
    verdict = judge([generated(), outcome("forms", lines=900)])
    assert verdict.passed and not verdict.reasons
    assert verdict.total.lines == GENERATED_LINES + 900
    assert [loss.name for loss in verdict.sets] == ["generated", "forms"]


def test_an_artefact_that_loses_little_passes_at_the_default_number_of_lines() -> None:
    wrong = round(0.015 * GENERATED_LINES)
    assert judge([generated(lost=wrong + GENERATED_LINES // 1000, won=wrong)]).passed


def test_what_counts_is_the_bound_and_not_the_loss_seen() -> None:
    verdict = judge([generated(lines=4000, lost=60, won=52)])
    assert verdict.total.loss == pytest.approx(0.2)
    (reason,) = (reason for reason in verdict.reasons if reason.startswith("all labels"))
    assert "0.20 points" in reason and "the limit is 0.5" in reason


def test_one_large_set_is_enough_to_refuse() -> None:
    verdict = judge([generated(), outcome("forms", lines=301, lost=4)])
    (reason,) = verdict.reasons
    assert reason.startswith("forms: loses 1.33 points of exact match on 301 lines")


def test_a_small_set_is_only_reported() -> None:
    verdict = judge([generated(), outcome("forms", lines=300, lost=30)])
    assert verdict.passed
    assert verdict.sets[1].loss == pytest.approx(10.0)


@pytest.mark.parametrize("exact", [0.64, 0.93, 1.0])
def test_lines_that_are_too_easy_or_hopeless_prove_nothing(exact: float) -> None:
    (reason,) = judge([generated(exact=exact)]).reasons
    assert "of the generated lines exactly, not 65 to 92 %" in reason


def test_too_few_generated_lines_prove_nothing() -> None:
    assert any("only 3999" in reason for reason in judge([generated(lines=3999)]).reasons)
    assert any("only 0" in reason for reason in judge([outcome("forms", lines=9000)]).reasons)
    assert judge([]).reasons


def test_limits_are_the_callers() -> None:
    limits = GateLimits(total=100.0, one_set=100.0, least_generated=10, least_exact=0.0)
    assert judge([generated(lines=10, lost=8)], limits).passed


def test_sets_have_different_names_and_one_flag_a_line() -> None:
    with pytest.raises(TierocrError, match="forms"):
        judge([outcome("forms", lines=10), outcome("forms", lines=10)])
    with pytest.raises(ValueError, match="argument 2"):
        measure(SetOutcome(name="a", reference=[True], candidate=[]))


def test_texts_are_compared_without_widths_and_spaces() -> None:
    assert exact_flags(["ＡＢ：１ 2", "a", ""], ["AB: 12", "A", "x"]) == (True, False, False)


@given(st.text())
def test_the_compared_form_is_stable(text: str) -> None:
    assert comparable(comparable(text)) == comparable(text)
    assert not any(char.isspace() for char in comparable(text))
