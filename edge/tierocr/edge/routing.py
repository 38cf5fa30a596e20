"""Which lines of a page are worth sending to the cloud.

Pure: values in, a plan out; what was spent so far is passed in. A line is a candidate when its
weakest character is less probable than the policy's threshold. Candidates are taken while two
token buckets, one of lines and one of bytes, allow it, the most contested first: the one whose
weakest character has the closest rival, since there a better model is most likely to decide
otherwise. The buckets fill with every page and start full, so that a hard page may use what easy
pages leave over. A page of which little is sure may be sent as a whole, where its source allows
that, out of the same buckets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tierocr.shared.document import TEXT_LAYER, Line

SURE, UNSURE, OVER_SHARE, OVER_BYTES = "sure", "unsure", "over_share", "over_bytes"
STAYS = "stays"
"""A rule about what must not leave the device forbids it."""

WHOLE = "whole_page"
"""It is sent with the page that it stands on."""

DOUBTFUL_SHARE = 0.5
"""Of a page with so many unsure lines most would be sent anyway, and the reading of where its lines
are is as doubtful as that of what they say.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPolicy:
    """`threshold`: a line with a smaller `score_raw` is unsure. `max_share`: of all lines seen,
    how many may be sent in the long run, with `burst_lines` on top at the start; from any page
    at least `lines_per_page`, as a share of three lines is none. `bytes_per_page`,
    `burst_bytes`: the same for the encoded crops. A share or a number of bytes per page of 0
    sends nothing.
    """

    threshold: float = 0.8
    max_share: float = 0.2
    burst_lines: int = 60
    lines_per_page: int = 6
    bytes_per_page: int = 40_000
    burst_bytes: int = 160_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has seen and sent so far."""

    pages: int = 0
    lines: int = 0
    sent_lines: int = 0
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPlan:
    """What to send, by line index, and why each line of the page was sent or kept."""

    refine: tuple[int, ...]
    reasons: Mapping[int, str]
    spent: Spent


def p_error(line: Line) -> float:
    """Probability that the line is not exactly right, as far as its confidence says."""
    return min(max(1.0 - line.confidence, 0.0), 1.0)


def candidates(lines: Sequence[Line], policy: RoutingPolicy) -> list[int]:
    """Indices of the unsure lines, the most contested first."""
    unsure = [
        i
        for i, line in enumerate(lines)
        if line.source != TEXT_LAYER and line.score_raw < policy.threshold
    ]
    return sorted(unsure, key=lambda i: (_contest(lines[i]), i))


def allowed_lines(line_count: int, policy: RoutingPolicy, spent: Spent) -> int:
    """How many lines of a page with `line_count` lines may be sent."""
    if policy.max_share <= 0:
        return 0
    earned = policy.burst_lines + int(policy.max_share * (spent.lines + line_count))
    return max(earned - spent.sent_lines, min(policy.lines_per_page, line_count))


def allowed_bytes(policy: RoutingPolicy, spent: Spent) -> int:
    """How many bytes the next page may send."""
    if policy.bytes_per_page <= 0:
        return 0
    return policy.burst_bytes + policy.bytes_per_page * (spent.pages + 1) - spent.sent_bytes


def plan(
    lines: Sequence[Line],
    sizes: Mapping[int, int],
    policy: RoutingPolicy,
    spent: Spent,
    stay: Collection[int] = (),
) -> RoutingPlan:
    """Choose among the candidates whose crops were encoded.

    `sizes`: encoded bytes by line index; a candidate without a size was cut off by the share
    already, or is one of `stay`, which must not leave.
    """
    budget = allowed_bytes(policy, spent)
    allowed = allowed_lines(len(lines), policy, spent)
    reasons = dict.fromkeys(range(len(lines)), SURE)
    refine: list[int] = []
    for i in candidates(lines, policy):
        size = sizes.get(i)
        if i in stay:
            reasons[i] = STAYS
        elif size is None or len(refine) >= allowed:
            reasons[i] = OVER_SHARE
        elif size > budget:
            reasons[i] = OVER_BYTES
        else:
            reasons[i] = UNSURE
            refine.append(i)
            budget -= size
    return RoutingPlan(
        refine=tuple(refine),
        reasons=reasons,
        spent=Spent(
            pages=spent.pages + 1,
            lines=spent.lines + len(lines),
            sent_lines=spent.sent_lines + len(refine),
            sent_bytes=spent.sent_bytes + sum(sizes[i] for i in refine),
        ),
    )


def wants_whole(lines: Sequence[Line], policy: RoutingPolicy) -> bool:
    """Whether the page should be read again as a whole: no line was found on it, or half of its
    lines are unsure.
    """
    return len(candidates(lines, policy)) >= DOUBTFUL_SHARE * len(lines)


def plan_whole(
    lines: Sequence[Line], size: int, policy: RoutingPolicy, spent: Spent, stay: Collection[int]
) -> RoutingPlan | None:
    """The page as a whole, of `size` bytes encoded; None where the budgets do not allow that. It
    counts with all of its lines but `stay`, which are hidden.
    """
    sent = len(lines) - len(stay)
    if sent > allowed_lines(len(lines), policy, spent) or size > allowed_bytes(policy, spent):
        return None
    if policy.max_share <= 0:
        return None
    return RoutingPlan(
        refine=(),
        reasons={i: STAYS if i in stay else WHOLE for i in range(len(lines))},
        spent=Spent(
            pages=spent.pages + 1,
            lines=spent.lines + len(lines),
            sent_lines=spent.sent_lines + sent,
            sent_bytes=spent.sent_bytes + size,
        ),
    )


def _contest(line: Line) -> float:
    """How clearly the weakest character won: the lead of its class over the next, 0..1."""
    return line.signals.margin if line.signals is not None else line.score_raw
