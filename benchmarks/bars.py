"""The accuracy bars: what our readers must reach against the peer of their size, and at what price.

Pure functions of measures. On each set the exact-match rate may be the peer's less the larger of
half a point and two labels; in the mean over the sets it must be better. Reading more must not be
bought with junk: characters outside every label are bounded by the peer's, and the length on sets
without boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.schema import Measure, Verdict

PEER_OF = {"edge-tiny": "faster-paddle-tiny", "cloud-small": "rapidocr"}
BAR_SETS = (
    "funsd_test",
    "sroie_train",
    "xfund_zh_val",
    "mtwi_zh",
    "zh_report_pages",
    "zh_game_screens",
)
LEAST_SLACK = 0.005
SLACK_LABELS = 2
EXTRA_SLACK = 0.02
LONGEST = 1.3
MEAN = "mean of the sets"

_ROUNDING = 1e-9  # a rate that equals its limit keeps it

Values = Mapping[str, float]
Scores = Mapping[str, Mapping[str, Values]]
"""Variant -> case -> values."""


def peer_of(variant: str) -> str | None:
    """The peer that a reader is held against; None if it is not ours (`edge-tiny:int8` is)."""
    return PEER_OF.get(variant.partition(":")[0])


def scores_of(measures: Sequence[Measure]) -> dict[str, dict[str, dict[str, float]]]:
    """Measures by variant and case."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for measure in measures:
        scores.setdefault(measure["variant"], {})[measure["case"]] = measure["values"]
    return scores


def judge(measures: Sequence[Measure]) -> list[Verdict]:
    """A verdict for each bar that the measures allow to judge."""
    scores = scores_of(measures)
    verdicts: list[Verdict] = []
    for variant, cases in scores.items():
        peer = peer_of(variant)
        if peer is None:
            continue
        for case, values in cases.items():
            theirs = scores.get(peer, {}).get(case)
            if case in BAR_SETS and theirs is not None:
                verdicts += _against_peer(variant, peer, case, values, theirs)
            verdicts += _length(variant, case, values)
        verdicts += _mean(variant, peer, cases, scores.get(peer, {}))
    return verdicts


def exact_rate(values: Values) -> float:
    """The share of labels read exactly, not rounded."""
    return values["exact"] / values["labels"]


def _against_peer(
    variant: str, peer: str, case: str, ours: Values, theirs: Values
) -> list[Verdict]:
    slack = max(LEAST_SLACK, SLACK_LABELS / ours["labels"])
    exact, least = exact_rate(ours), exact_rate(theirs) - slack
    extra, most = (values["extra"] / values["chars"] for values in (ours, theirs))
    most += EXTRA_SLACK
    return [
        Verdict(
            bar="EM at least",
            variant=variant,
            peer=peer,
            case=case,
            value=exact,
            limit=least,
            passed=exact >= least - _ROUNDING,
        ),
        Verdict(
            bar="extra_rate at most",
            variant=variant,
            peer=peer,
            case=case,
            value=extra,
            limit=most,
            passed=extra <= most + _ROUNDING,
        ),
    ]


def _mean(
    variant: str, peer: str, ours: Mapping[str, Values], theirs: Mapping[str, Values]
) -> list[Verdict]:
    """Better in the mean; judged only where both have read every set."""
    if not all(case in ours and case in theirs for case in BAR_SETS):
        return []
    value, limit = (
        sum(exact_rate(cases[case]) for case in BAR_SETS) / len(BAR_SETS)
        for cases in (ours, theirs)
    )
    return [
        Verdict(
            bar="EM above",
            variant=variant,
            peer=peer,
            case=MEAN,
            value=value,
            limit=limit,
            passed=value > limit,
        )
    ]


def _length(variant: str, case: str, values: Values) -> list[Verdict]:
    """What a set without boxes says about junk: its length against the labels'."""
    if not values.get("labelled_chars"):
        return []
    value = values["predicted_chars"] / values["labelled_chars"]
    return [
        Verdict(
            bar="length_ratio at most",
            variant=variant,
            peer="",
            case=case,
            value=value,
            limit=LONGEST,
            passed=value <= LONGEST + _ROUNDING,
        )
    ]
