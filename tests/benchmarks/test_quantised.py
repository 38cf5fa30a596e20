from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import quantised
from benchmarks.bars import BAR_SETS
from benchmarks.harness import read_result
from benchmarks.peers.predictions import TextLine, image_paths, page_json, store_predictions
from benchmarks.schema import Measure
from tierocr.shared.engines.processor import gated_kernels

BOX = [[0.0, 0.0], [40.0, 0.0], [40.0, 20.0], [0.0, 20.0]]


def measured(variant: str, case: str, labels: int, exact: int) -> Measure:
    return Measure(variant=variant, case=case, values={"labels": labels, "exact": exact})


@pytest.mark.parametrize(("exact", "passed"), [(990, True), (989, False)])
def test_a_large_set_may_lose_a_point(exact: int, passed: bool) -> None:
    pair = [measured("f32 AVX2", "set", 1000, 1000), measured("int8 AVX2", "set", 1000, exact)]
    (verdict,) = quantised.judge(pair)
    assert verdict["passed"] == passed and verdict["limit"] == 1.0


def test_small_sets_are_reported_only_and_all_labels_may_lose_half_a_point() -> None:
    pair = [measured("f32 AVX2", "set", 300, 300), measured("int8 AVX2", "set", 300, 0)]
    assert quantised.judge(pair) == []
    pair = [measured("f32 AVX2", quantised.ALL, 1000, 900)]
    pair += [measured("int8 AVX2", quantised.ALL, 1000, lost) for lost in (894,)]
    (verdict,) = quantised.judge(pair)
    assert not verdict["passed"] and verdict["value"] == pytest.approx(0.6)


def test_each_precision_reads_with_each_set_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    for name in BAR_SETS:
        (data / name / "images").mkdir(parents=True)
        (data / name / "images" / "1.png").write_bytes(b"")
        row = {"image": "images/1.png", "lines": [{"text": "right", "box": BOX}]}
        (data / name / "labels.jsonl").write_text(json.dumps(row), encoding="utf-8")
    asked = []

    def read(kernels: str, precision: str, pack: str, folders: list[Path], work: Path) -> None:
        asked.append((kernels, precision))
        for folder in folders:
            store_predictions(
                image_paths(folder),
                work / folder.name,
                read=lambda path: "right" if precision == "f32" else "wrong",
                to_json=lambda text: page_json([TextLine(text, BOX)]),
                packages=["numpy"],
                parameters={"precision": precision},
            )

    monkeypatch.setattr(quantised, "read_with", read)
    out = tmp_path / "result.json"
    arguments = ["--data", str(data), "--work", str(tmp_path / "work"), "--out", str(out)]
    have, _ = gated_kernels()
    assert quantised.main(arguments) == (1 if have else 0)
    assert asked == [(isa, precision) for isa in have for precision in quantised.PRECISIONS]
    missed = [v["case"] for v in read_result(out)["verdicts"] if not v["passed"]]
    assert missed == [quantised.ALL] * len(have)
