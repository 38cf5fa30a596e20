"""Properties of the plan, for any pages and any policy."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.lines import read_line
from tierocr.edge.routing import (
    OVER_BYTES,
    OVER_SHARE,
    SURE,
    UNSURE,
    RoutingPlan,
    RoutingPolicy,
    Spent,
    allowed_lines,
    candidates,
    p_error,
    plan,
)
from tierocr.shared.document import EDGE, TEXT_LAYER, Line

Sized = list[tuple[Line, int]]

fractions = st.floats(0, 1)
lines = st.builds(
    read_line,
    score=fractions,
    margin=st.none() | fractions,
    source=st.sampled_from([EDGE, EDGE, TEXT_LAYER]),
)
pages = st.lists(st.tuples(lines, st.integers(1, 9000)), max_size=30)
policies = st.builds(
    RoutingPolicy,
    threshold=fractions,
    max_share=fractions,
    lines_per_page=st.integers(0, 6),
    bytes_per_page=st.integers(0, 60_000),
    burst_lines=st.integers(0, 20),
    burst_bytes=st.integers(0, 60_000),
)
GENEROUS = RoutingPolicy(threshold=0.97, max_share=1.0, bytes_per_page=10**9)


def planned(page: Sized, policy: RoutingPolicy, spent: Spent) -> RoutingPlan:
    """Plan a page as the reader does: only what the share allows was cut and weighed."""
    read = [line for line, _ in page]
    allowed = allowed_lines(len(read), policy, spent)
    sizes = {i: page[i][1] for i in candidates(read, policy)[:allowed]}
    return plan(read, sizes, policy, spent)


@given(st.lists(pages, max_size=6), policies)
def test_the_allowance_is_never_exceeded(run: list[Sized], policy: RoutingPolicy) -> None:
    spent = Spent()
    for count, page in enumerate(run, 1):
        allowed = allowed_lines(len(page), policy, spent)
        routing = planned(page, policy, spent)
        spent = routing.spent
        assert len(routing.refine) <= max(allowed, 0)
        assert spent.sent_bytes <= policy.burst_bytes + policy.bytes_per_page * count
        earned = policy.burst_lines + policy.max_share * spent.lines
        share = earned + policy.lines_per_page * count
        assert spent.sent_lines <= share + 1e-6
        assert spent.pages == count
    assert spent.lines == sum(len(page) for page in run)


@given(pages, policies, st.builds(Spent, lines=st.integers(0, 500), pages=st.integers(0, 9)))
def test_every_line_is_sent_or_kept_for_a_reason(
    page: Sized, policy: RoutingPolicy, spent: Spent
) -> None:
    routing = planned(page, policy, spent)
    assert set(routing.reasons) == set(range(len(page)))
    assert set(routing.reasons.values()) <= {SURE, UNSURE, OVER_SHARE, OVER_BYTES}
    assert sorted(routing.refine) == [i for i, r in routing.reasons.items() if r == UNSURE]
    assert len(set(routing.refine)) == len(routing.refine)
    for i, (line, _) in enumerate(page):
        unsure = line.source != TEXT_LAYER and line.score_raw < policy.threshold
        assert (routing.reasons[i] != SURE) == unsure
    sent = sum(page[i][1] for i in routing.refine)
    assert routing.spent == Spent(
        pages=spent.pages + 1,
        lines=spent.lines + len(page),
        sent_lines=spent.sent_lines + len(routing.refine),
        sent_bytes=spent.sent_bytes + sent,
    )


@given(pages, policies, st.sampled_from(["threshold", "max_share", "bytes_per_page"]))
def test_zero_of_anything_sends_nothing(page: Sized, policy: RoutingPolicy, what: str) -> None:
    nothing = replace(policy, **{what: 0})
    assert planned(page, nothing, Spent(lines=1000, pages=10)).refine == ()


@given(pages, policies)
def test_the_most_contested_go_first(page: Sized, policy: RoutingPolicy) -> None:
    routing = planned(page, replace(policy, bytes_per_page=10**9), Spent())

    def contest(i: int) -> float:
        line = page[i][0]
        return line.signals.margin if line.signals else line.score_raw

    sent = [contest(i) for i in routing.refine]
    kept = [contest(i) for i, reason in routing.reasons.items() if reason == OVER_SHARE]
    assert sent == sorted(sent)
    assert not sent or not kept or sent[-1] <= min(kept)


@given(pages, policies)
def test_the_same_page_gives_the_same_plan(page: Sized, policy: RoutingPolicy) -> None:
    assert planned(page, policy, Spent()) == planned(page, policy, Spent())


def test_what_one_page_leaves_the_next_may_use() -> None:
    policy = RoutingPolicy(
        threshold=0.97,
        max_share=0.25,
        burst_lines=0,
        lines_per_page=1,
        bytes_per_page=1000,
        burst_bytes=0,
    )
    sure = [(read_line(score=0.999), 0)] * 30
    unsure = [(read_line(score=0.5), 150)] * 10
    alone = planned(unsure, policy, Spent())
    assert len(alone.refine) == 2  # a quarter of ten
    later = planned(unsure, policy, planned(sure, policy, Spent()).spent)
    assert len(later.refine) == 10  # a quarter of forty, and the bytes of two pages
    third = planned(unsure, policy, later.spent)
    assert len(third.refine) == 2  # of fifty lines 12 may go, 10 went
    assert list(third.reasons.values()).count(OVER_SHARE) == 8


def test_a_short_page_may_send_some_lines_whatever_their_share() -> None:
    policy = RoutingPolicy(threshold=0.97, max_share=0.01, burst_lines=0, lines_per_page=2)
    assert len(planned([(read_line(), 10)] * 3, policy, Spent()).refine) == 2
    assert len(planned([(read_line(), 10)], policy, Spent()).refine) == 1


def test_a_crop_too_heavy_for_the_budget_does_not_block_lighter_ones() -> None:
    policy = replace(GENEROUS, bytes_per_page=1000, burst_bytes=0)
    page = [(read_line(margin=0.1), 900), (read_line(margin=0.2), 400), (read_line(margin=0.3), 90)]
    routing = planned(page, policy, Spent())
    assert routing.refine == (0, 2)
    assert routing.reasons[1] == OVER_BYTES


def test_the_threshold_itself_is_sure() -> None:
    at, below = read_line(score=0.97), read_line(score=0.9699)
    assert candidates([at, below], GENEROUS) == [1]


def test_no_page_no_plan() -> None:
    assert planned([], GENEROUS, Spent()) == RoutingPlan(
        refine=(), reasons={}, spent=Spent(pages=1)
    )


@given(st.floats(-0.5, 1.5))
def test_the_probability_of_an_error_is_one(confidence: float) -> None:
    assert 0.0 <= p_error(read_line(confidence=confidence)) <= 1.0


def test_a_hard_page_may_use_the_burst_and_later_pages_pay_for_it() -> None:
    policy = RoutingPolicy(threshold=0.97, max_share=0.25, burst_lines=4, lines_per_page=0)
    hard = [(read_line(score=0.5), 10)] * 8
    first = planned(hard, policy, Spent())
    assert len(first.refine) == 6  # a quarter of eight, and the burst
    second = planned(hard, policy, first.spent)
    assert len(second.refine) == 2
