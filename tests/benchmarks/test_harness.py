from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.harness import (
    Start,
    Variant,
    begin,
    build_result,
    interleave,
    ratio,
    read_result,
    timing,
    variant_record,
    write_result,
)
from benchmarks.machine import Machine
from benchmarks.schema import Result, check_result

MACHINE = Machine(
    cpu="Some CPU",
    cpu_flags=["avx2"],
    cores_allowed=2,
    cores_present=8,
    memory_bytes=1 << 33,
    os="Some OS 1",
    architecture="x86_64",
    python="3.10.1",
    packages={"numpy": "2.0.0"},
    load_before=[0.1, 0.2, 0.3],
)
START = Start(date="2026-01-02T03:04:05Z", revision="a" * 40, machine=MACHINE)


class FakeWork:
    """Work that takes as long as it is told, on a clock that only moves when it is done."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def clock(self) -> float:
        return self.now

    def variant(self, name: str, seconds: float, own: float | None = None) -> Variant:
        def run() -> float | None:
            self.order.append(name)
            self.now += seconds
            return own

        return Variant(name=name, run=run)


def small_result(**changes: Any) -> Result:
    seconds = {"ours": [1.0, 2.0], "peer": [2.0, 4.0]}
    variants = [
        variant_record(name, START, versions={"numpy": "2.0.0"}, parameters={"batch": 8})
        for name in seconds
    ]
    measures = [timing(name, "receipts", values) for name, values in seconds.items()]
    result = build_result(
        "latency",
        "seconds a page",
        start=START,
        variants=variants,
        measures=measures,
        ratios=[ratio("ours", "peer", "receipts", seconds)],
    )
    return cast(Result, {**result, **changes})


def test_variants_are_interleaved_after_the_warm_up() -> None:
    work = FakeWork()
    variants = [work.variant("a", 1.0), work.variant("b", 2.0)]
    seconds = interleave(variants, rounds=2, warm_up=1, clock=work.clock)
    assert "".join(work.order) == "ab" + "abab"
    assert seconds == {"a": [1.0, 1.0], "b": [2.0, 2.0]}


def test_a_variant_that_times_itself_is_believed() -> None:
    work = FakeWork()
    seconds = interleave([work.variant("peer", 5.0, own=0.25)], rounds=2, clock=work.clock)
    assert seconds == {"peer": [0.25, 0.25]}


def test_two_variants_of_one_name_are_refused() -> None:
    work = FakeWork()
    with pytest.raises(ValueError, match="same name"):
        interleave([work.variant("a", 1.0), work.variant("a", 1.0)], rounds=1)


def test_a_ratio_is_taken_within_pairs() -> None:
    # both slow down together: each alone varies by four, the ratio does not
    found = ratio("a", "b", "case", {"a": [1.0, 4.0, 2.0], "b": [2.0, 8.0, 4.0]})
    assert (found["median"], found["low"], found["high"], found["pairs"]) == (0.5, 0.5, 0.5, 3)


def test_a_timing_names_its_units() -> None:
    values = timing("a", "case", [3.0, 1.0, 2.0])["values"]
    assert values == {
        "seconds_q1": 1.5,
        "seconds_median": 2.0,
        "seconds_q3": 2.5,
        "rounds": 3.0,
    }


def test_a_result_is_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "latency.json"
    result = small_result()
    assert write_result(result, path) == path
    assert read_result(path) == result
    assert [file.name for file in path.parent.iterdir()] == ["latency.json"]


def test_a_failed_write_leaves_the_earlier_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_result(small_result(), tmp_path / "latency.json")
    before = path.read_bytes()

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_result(small_result(what="other"), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["latency.json"]


def test_begin_notes_date_revision_and_machine() -> None:
    start = begin(["numpy"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", start.date)
    check_result(
        small_result(date=start.date, revision=start.revision, machine=dict(start.machine))
    )


@pytest.mark.parametrize("text", ["/home/someone/data", "see ~/data", "C:\\data", "at=/srv/x/y"])
def test_absolute_paths_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="absolute path"):
        check_result(small_result(what=text))


def test_what_only_looks_like_a_path_is_allowed() -> None:
    check_result(small_result(what="EM / CER, 12/25 pages, and/or, openvino 2026.4 CPU"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda result: result.pop("machine"),
        lambda result: result.update(schema="tierocr.benchmark/2"),
        lambda result: result.update(revision="main"),
        lambda result: result.update(texts=["a label"]),
        lambda result: result["machine"].update(host="somewhere"),
        lambda result: result["measures"][0]["values"].update(text="a label"),
        lambda result: result["ratios"][0].update(pairs=0),
    ],
)
def test_what_breaks_the_contract_is_refused(spoil: Callable[[dict[str, Any]], object]) -> None:
    result = copy.deepcopy(cast(dict[str, Any], small_result()))
    spoil(result)
    with pytest.raises(ValueError, match="tierocr.benchmark/1"):
        check_result(cast(Result, result))


def test_numbers_that_json_does_not_know_are_refused(tmp_path: Path) -> None:
    result = small_result()
    result["measures"][0]["values"]["seconds_median"] = float("nan")
    with pytest.raises(ValueError):
        write_result(result, tmp_path / "latency.json")
    assert not list(tmp_path.iterdir())


def test_every_stored_result_keeps_the_contract() -> None:
    for path in (Path(__file__).parents[2] / "benchmarks" / "results").glob("*.json"):
        assert read_result(path)["name"] == path.stem
        assert json.loads(path.read_text(encoding="utf-8"))
