from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.score import main, normalise, score_set
from tests.benchmarks.synthetic import write_set

GOLDEN: dict[str, dict[str, float]] = {
    # computed by the scorer that this one was copied from
    "synthetic": {
        "absent": 2,
        "labels": 115,
        "exact": 37,
        "edits": 390,
        "chars": 1079,
        "missed": 28,
        "extra": 90,
        "lines": 32,
        "found": 14,
        "contains": 8,
        "contained": 4,
        "predicted_chars": 273,
        "labelled_chars": 278,
        "empty_pages": 2,
        "empty_right": 0,
        "EM": 0.3217,
        "CER": 0.3614,
        "missed_rate": 0.2435,
        "extra_rate": 0.0834,
        "line_recall": 0.4375,
        "length_ratio": 0.98,
    },
    "sroie_train": {
        "absent": 2,
        "labels": 117,
        "exact": 43,
        "edits": 414,
        "chars": 1147,
        "missed": 29,
        "extra": 81,
        "lines": 32,
        "found": 12,
        "contains": 8,
        "contained": 4,
        "predicted_chars": 285,
        "labelled_chars": 292,
        "empty_pages": 2,
        "empty_right": 2,
        "EM": 0.3675,
        "CER": 0.3609,
        "missed_rate": 0.2479,
        "extra_rate": 0.0706,
        "line_recall": 0.375,
        "length_ratio": 0.98,
    },
}


def score_lines(
    tmp_path: Path, labels: list[dict[str, Any]], lines: list[dict[str, Any]], **row: Any
) -> dict[str, Any]:
    (tmp_path / "set").mkdir()
    labelled = json.dumps({"image": "images/a.png", "lines": labels, **row})
    (tmp_path / "set" / "labels.jsonl").write_text(labelled + "\n", encoding="utf8")
    document = json.dumps({"pages": [{"lines": lines}]})
    (tmp_path / "a.png.json").write_text(document, encoding="utf8")
    return score_set(tmp_path / "set", tmp_path)


def box(x: float, y: float, width: float, height: float = 20) -> list[list[float]]:
    return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]


@pytest.mark.parametrize(("name", "seed"), [("synthetic", 1), ("sroie_train", 2)])
def test_the_numbers_are_those_of_the_original(tmp_path: Path, name: str, seed: int) -> None:
    write_set(tmp_path / name, tmp_path / "predictions", seed=seed, pages=12)
    assert score_set(tmp_path / name, tmp_path / "predictions") == {"set": name, **GOLDEN[name]}


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_the_original_scorer_agrees(tmp_path: Path, seed: int) -> None:
    data = os.environ.get("TIEROCR_DATA")
    original = Path(data or "").parent / "tools" / "score.py"
    if not data or not original.exists():
        pytest.skip("TIEROCR_DATA is not set, or the original scorer is not beside it")
    write_set(tmp_path / "set", tmp_path / "predictions", seed=seed)
    command = [sys.executable, str(original), str(tmp_path / "set"), str(tmp_path / "predictions")]
    printed = subprocess.run([*command, "--json"], check=True, capture_output=True).stdout
    assert score_set(tmp_path / "set", tmp_path / "predictions") == json.loads(printed)


def test_a_line_joined_over_two_labels_is_not_punished(tmp_path: Path) -> None:
    labels = [{"text": "left", "box": box(0, 0, 40)}, {"text": "right", "box": box(60, 0, 50)}]
    found = score_lines(tmp_path, labels, [{"text": "left  right", "polygon": box(0, 0, 110)}])
    assert (found["exact"], found["extra"]) == (2, 0)


def test_characters_outside_every_label_are_extra(tmp_path: Path) -> None:
    lines = [{"text": "ab", "polygon": box(0, 0, 20)}, {"text": "cd", "polygon": box(0, 500, 20)}]
    found = score_lines(tmp_path, [{"text": "ab", "box": box(0, 0, 20)}], lines)
    assert (found["exact"], found["extra"], found["extra_rate"]) == (1, 2, 1.0)


def test_an_ignored_label_takes_its_characters_and_counts_for_nothing(tmp_path: Path) -> None:
    labels: list[dict[str, Any]] = [
        {"text": "ab", "box": box(0, 0, 20)},
        {"text": "scrawl", "box": box(0, 100, 60), "ignore": True},
    ]
    found = score_lines(tmp_path, labels, [{"text": "anything", "polygon": box(0, 100, 60)}])
    assert (found["labels"], found["missed"], found["extra"]) == (1, 1, 0)


def test_a_page_without_boxes_is_scored_by_recall(tmp_path: Path) -> None:
    labels = [{"text": "合计：12", "box": None}, {"text": "missing", "box": None}]
    lines = [{"text": "合计:12元", "polygon": box(0, 0, 90)}]
    found = score_lines(tmp_path, labels, lines, contains=["12元"])
    assert (found["found"], found["contained"], found["line_recall"]) == (1, 1, 0.5)
    assert found["length_ratio"] == round(6 / 12, 2)


def test_a_page_that_should_be_empty_is(tmp_path: Path) -> None:
    found = score_lines(tmp_path, [], [], text="")
    assert (found["empty_pages"], found["empty_right"]) == (1, 1)


def test_texts_are_compared_without_width_space_and_where_told_case() -> None:
    assert normalise("Ａ ，（１）", False) == "A,(1)"
    assert normalise("ABC", True) == "abc"


def test_the_command_prints_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_set(tmp_path / "set", tmp_path / "predictions", seed=1)
    main([str(tmp_path / "set"), str(tmp_path / "predictions"), "--json"])
    assert json.loads(capsys.readouterr().out)["set"] == "set"
    main([str(tmp_path / "set"), str(tmp_path / "predictions")])
    assert capsys.readouterr().out.startswith("set=set  absent=1  labels=")
