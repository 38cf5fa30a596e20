from __future__ import annotations

import pytest

from benchmarks.bars import BAR_SETS, MEAN, judge
from benchmarks.schema import Measure, Verdict


def boxed(variant: str, case: str, exact: int, *, labels: int = 1000, extra: int = 0) -> Measure:
    values = {"exact": exact, "labels": labels, "extra": extra, "chars": 10000}
    return Measure(variant=variant, case=case, values={k: float(v) for k, v in values.items()})


def verdict(measures: list[Measure], bar: str) -> Verdict:
    (found,) = [verdict for verdict in judge(measures) if verdict["bar"] == bar]
    return found


@pytest.mark.parametrize(
    ("exact", "labels", "kept"),
    [
        (895, 1000, True),  # half a point less than 0.900
        (894, 1000, False),
        (43, 50, True),  # few labels: two of them may be missed
        (42, 50, False),
    ],
)
def test_the_exact_rate_may_be_the_peers_less_a_little(exact: int, labels: int, kept: bool) -> None:
    measures = [
        boxed("edge-tiny", "funsd_test", exact, labels=labels),
        boxed("faster-paddle-tiny", "funsd_test", labels * 9 // 10, labels=labels),
    ]
    assert verdict(measures, "EM at least")["passed"] is kept


@pytest.mark.parametrize(("extra", "kept"), [(300, True), (301, False)])
def test_exactness_is_not_bought_with_junk(extra: int, kept: bool) -> None:
    measures = [
        boxed("cloud-small", "mtwi_zh", 990, extra=extra),
        boxed("rapidocr", "mtwi_zh", 900, extra=100),
    ]
    assert verdict(measures, "extra_rate at most")["passed"] is kept


def test_the_mean_must_be_better_and_is_judged_on_all_sets_only() -> None:
    ours = [boxed("edge-tiny", case, 900) for case in BAR_SETS]
    theirs = [boxed("faster-paddle-tiny", case, 900) for case in BAR_SETS]
    equal = verdict([*ours, *theirs], "EM above")
    assert (equal["case"], equal["passed"]) == (MEAN, False)
    better = [*ours[:-1], boxed("edge-tiny", BAR_SETS[-1], 901)]
    assert verdict([*better, *theirs], "EM above")["passed"]
    assert not [v for v in judge([*ours[:-1], *theirs]) if v["case"] == MEAN]


def test_a_precision_of_ours_is_held_against_the_same_peer() -> None:
    measures = [boxed("edge-tiny:int8", "mtwi_zh", 1), boxed("faster-paddle-tiny", "mtwi_zh", 2)]
    assert verdict(measures, "EM at least")["peer"] == "faster-paddle-tiny"


def test_without_the_peer_nothing_is_judged_against_it() -> None:
    assert judge([boxed("edge-tiny", "mtwi_zh", 1), boxed("rapidocr", "mtwi_zh", 900)]) == []


def test_sets_that_are_not_barred_are_not_judged() -> None:
    measures = [boxed(name, "pubtabnet_examples", 1) for name in ("cloud-small", "rapidocr")]
    assert judge(measures) == []


@pytest.mark.parametrize(("predicted", "kept"), [(130.0, True), (131.0, False)])
def test_the_length_on_sets_without_boxes_is_bounded(predicted: float, kept: bool) -> None:
    values = {"predicted_chars": predicted, "labelled_chars": 100.0}
    ours = Measure(variant="edge-tiny", case="zh_docs_eye", values=values)
    theirs = Measure(variant="rapidocr", case="zh_docs_eye", values=values)
    assert [v["passed"] for v in judge([ours, theirs])] == [kept]
