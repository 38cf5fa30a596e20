"""Whether a quantised artefact reads well enough to be shipped: decisions on outcomes, pure.

The same lines are read by the FP32 artefact (the reference) and by the quantised one (the
candidate). What counts is not the loss that was seen but its one-sided 95 % upper bound: an
artefact passes when the lines show that it loses little, not when they fail to show that it loses
much.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from tierocr.shared.errors import TierocrError

GENERATED_LINES = 32_000
"""How many generated lines the gate reads unless told otherwise.

The bound lies about z * sqrt(q / n) above the true loss, where q is the share of lines on which the
two artefacts disagree and z = 1.645. With q = 2.5 %, as a sound INT8 artefact of a small recogniser
has, that is 0.41 points for 4,000 lines, which leaves no room under the limit of 0.5. At 32,000 it
is 0.15: an artefact that truly loses 0.2 points passes nearly always, one that loses 0.35 every
second time, and one that loses 0.5 one time in twenty.
"""

_STEPS = 60  # halvings of an interval of length 2: far below one line in any set


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOutcome:
    """Which lines of one set were read exactly by either artefact, in the same order.

    `generated`: whether this is the gate's own set of generated lines.
    """

    name: str
    reference: Sequence[bool]
    candidate: Sequence[bool]
    generated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLimits:
    """When an artefact is refused. Losses are in points of exact match (1 point = 1 %).

    `total`: most loss over all labels. `one_set`: most loss on a set of over `least_set` labels;
    smaller sets are only reported. `least_generated`: fewest generated lines for the gate to be
    valid. `least_exact`, `most_exact`: the share of them, in points, that the reference must read
    exactly: lines that are too easy or hopeless hide the loss.
    """

    total: float = 0.5
    one_set: float = 1.0
    least_set: int = 300
    least_generated: int = 4000
    least_exact: float = 65.0
    most_exact: float = 92.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a candidate lost on `lines` lines, all in points.

    `reference`, `candidate`: exact match. `loss`: their difference, positive when the candidate
    reads worse. `bound`: the loss's one-sided 95 % upper bound.
    """

    name: str
    lines: int
    reference: float
    candidate: float
    loss: float
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's answer: why an artefact was refused (nothing when it passed), and the figures."""

    reasons: tuple[str, ...]
    total: Loss
    sets: tuple[Loss, ...]

    @property
    def passed(self) -> bool:
        """Whether the artefact may be shipped."""
        return not self.reasons


def comparable(text: str) -> str:
    """The form in which texts are compared: NFKC, without white space."""
    bare = "".join(unicodedata.normalize("NFKC", text).split())
    return unicodedata.normalize("NFKC", bare)  # what a space stood between may compose now


def exact_flags(readings: Sequence[str], texts: Sequence[str]) -> tuple[bool, ...]:
    """Which readings say exactly what the labels of the same lines say."""
    pairs = zip(readings, texts, strict=True)
    return tuple(comparable(reading) == comparable(text) for reading, text in pairs)


def loss_bound(lost: int, won: int, lines: int, confidence: float = 0.95) -> float:
    """The one-sided upper bound of a paired difference of proportions, -1..1.

    `lost`: lines that only the reference read exactly; `won`: only the candidate; of `lines` in
    all. Tango's score interval (Statistics in Medicine 17, 1998, 891-908): the largest difference
    that a one-sided score test does not reject, the chance of a line being won estimated under that
    difference by maximum likelihood. Unlike a Wald interval it stays sound at few discordant pairs:
    none in n lines bounds the loss at about 2.7 / n (at 95 %), not at 0. 1 when there are no lines.
    """
    if lines == 0 or lost == lines:
        return 1.0
    quantile = NormalDist().inv_cdf(confidence)
    low, high = (lost - won) / lines, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _score(lost, won, lines, middle) > -quantile:
            low = middle
        else:
            high = middle
    return high


def measure(outcome: SetOutcome) -> Loss:
    """The loss on one set and its bound. Raises ValueError when the flags differ in number."""
    pairs = list(zip(outcome.reference, outcome.candidate, strict=True))
    lost = sum(reference and not candidate for reference, candidate in pairs)
    won = sum(candidate and not reference for reference, candidate in pairs)
    share = 100 / max(1, len(pairs))
    return Loss(
        name=outcome.name,
        lines=len(pairs),
        reference=share * sum(map(bool, outcome.reference)),
        candidate=share * sum(map(bool, outcome.candidate)),
        loss=share * (lost - won),
        bound=100 * loss_bound(lost, won, len(pairs)),
    )


def judge(outcomes: Sequence[SetOutcome], limits: GateLimits | None = None) -> Verdict:
    """Pass or refuse an artefact by what it read in one way (one batch size, one instruction set).

    Raises TierocrError `bad_request` when two sets have one name.
    """
    limits = limits or GateLimits()
    names = [outcome.name for outcome in outcomes]
    if len(set(names)) < len(names):
        raise TierocrError("bad_request", f"two sets of one name: {', '.join(sorted(names))}")
    sets = [measure(outcome) for outcome in outcomes]
    total = measure(
        SetOutcome(
            name="all labels",
            reference=[flag for outcome in outcomes for flag in outcome.reference],
            candidate=[flag for outcome in outcomes for flag in outcome.candidate],
        )
    )
    generated = [s for s, o in zip(sets, outcomes, strict=True) if o.generated]
    reasons = _invalid(generated, limits) + _too_much(total, limits.total)
    for one in sets:
        if one.lines > limits.least_set:
            reasons += _too_much(one, limits.one_set)
    return Verdict(reasons=tuple(reasons), total=total, sets=tuple(sets))


def _invalid(generated: Sequence[Loss], limits: GateLimits) -> list[str]:
    """Why the generated lines cannot show a loss."""
    lines = sum(one.lines for one in generated)
    if lines < limits.least_generated:
        return [f"only {lines} generated lines, at least {limits.least_generated} are needed"]
    exact = sum(one.reference * one.lines for one in generated) / lines
    if not limits.least_exact <= exact <= limits.most_exact:
        allowed = f"{limits.least_exact:g} to {limits.most_exact:g} %"
        return [f"the reference reads {exact:.1f} % of the generated lines exactly, not {allowed}"]
    return []


def _too_much(loss: Loss, limit: float) -> list[str]:
    if loss.bound <= limit:
        return []
    return [
        f"{loss.name}: loses {loss.loss:.2f} points of exact match on {loss.lines} lines, "
        f"up to {loss.bound:.2f} with 95 % confidence; the limit is {limit:g}"
    ]


def _score(lost: int, won: int, lines: int, difference: float) -> float:
    """Tango's statistic for a true difference; falls as the difference grows."""
    spread = difference * (1 - difference)
    linear = -lost - won + (2 * lines - lost + won) * difference
    root = math.sqrt(max(0.0, linear**2 + 8 * lines * won * spread))
    chance = (root - linear) / (4 * lines)  # of a line being won
    variance = lines * (2 * chance + spread)
    distance = lost - won - lines * difference
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)
