from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import accuracy, readers
from benchmarks.harness import read_result
from benchmarks.peers.predictions import TextLine, image_paths, page_json, store_predictions
from benchmarks.readers import OurReader, PeerReader, Reader, make_reader

BOX = [[0.0, 0.0], [40.0, 0.0], [40.0, 20.0], [0.0, 20.0]]


class FakeReader:
    """Reads the label of every page but the first `misread` ones."""

    def __init__(self, name: str, misread: int = 0) -> None:
        self.name = name
        self.misread = misread

    def predict(self, set_dir: Path, out_dir: Path) -> None:
        bad = {path.name for path in image_paths(set_dir)[: self.misread]}
        store_predictions(
            image_paths(set_dir),
            out_dir,
            read=lambda path: "wrong" if path.name in bad else "right",
            to_json=lambda text: page_json([TextLine(text, BOX)]),
            packages=["numpy"],
            parameters={"misread": self.misread},
        )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("mtwi_zh", "funsd_test"):
        (tmp_path / "data" / name).mkdir(parents=True)
        rows = [
            json.dumps({"image": f"images/{n}.png", "lines": [{"text": "right", "box": BOX}]})
            for n in range(8)
        ]
        labels = tmp_path / "data" / name / "labels.jsonl"
        labels.write_text("\n".join(rows), encoding="utf-8")
    return tmp_path / "data"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeReader]:
    made = {name: FakeReader(name) for name in ("edge-tiny", "faster-paddle-tiny", "rapidocr")}

    def make(name: str, environments: Path | None) -> Reader:
        return made[name]

    monkeypatch.setattr(accuracy, "make_reader", make)
    return made


def run(data: Path, readers: str, *, sets: str = "mtwi_zh,funsd_test") -> int:
    out, work = data.parent / "accuracy.json", data.parent / "work"
    arguments = ["--data", str(data), "--sets", sets, "--readers", readers]
    return accuracy.main([*arguments, "--work", str(work), "--out", str(out)])


def exact(data: Path) -> dict[tuple[str, str], float]:
    measures = read_result(data.parent / "accuracy.json")["measures"]
    return {(m["variant"], m["case"]): m["values"]["exact"] for m in measures}


def test_kept_bars_exit_with_0_and_missed_ones_with_1(
    data: Path, fakes: dict[str, FakeReader], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data, "edge-tiny,faster-paddle-tiny") == 0
    assert "1.000 / 0.0000" in capsys.readouterr().out
    fakes["edge-tiny"].misread = 3  # two labels may be missed, three not
    assert run(data, "edge-tiny,faster-paddle-tiny") == 1
    printed = capsys.readouterr().out
    assert "MISSED" in printed and "4 bars judged, 2 missed" in printed


def test_one_reader_is_run_again_and_the_others_are_kept(
    data: Path, fakes: dict[str, FakeReader]
) -> None:
    run(data, "edge-tiny,faster-paddle-tiny,rapidocr")
    fakes["edge-tiny"].misread, fakes["rapidocr"].misread = 1, 5
    run(data, "edge-tiny")
    found = exact(data)
    assert found["edge-tiny", "mtwi_zh"] == 7 and found["rapidocr", "mtwi_zh"] == 8
    result = read_result(data.parent / "accuracy.json")
    names = [variant["name"] for variant in result["variants"]]
    assert names == ["edge-tiny", "faster-paddle-tiny", "rapidocr"]
    assert result["variants"][0]["parameters"] == {"misread": 1}


def test_results_about_other_sets_are_replaced(
    data: Path, fakes: dict[str, FakeReader], capsys: pytest.CaptureFixture[str]
) -> None:
    run(data, "rapidocr", sets="mtwi_zh")
    run(data, "edge-tiny")
    assert {variant for variant, _ in exact(data)} == {"edge-tiny"}
    assert "replaced" in capsys.readouterr().err


def test_the_result_holds_no_text_of_a_page(data: Path, fakes: dict[str, FakeReader]) -> None:
    run(data, "edge-tiny")
    stored = (data.parent / "accuracy.json").read_text(encoding="utf-8")
    assert "right" not in stored and str(data) not in stored


@pytest.mark.parametrize("sets", ["", "no_such_set"])
def test_unusable_sets_are_refused(
    data: Path, fakes: dict[str, FakeReader], capsys: pytest.CaptureFixture[str], sets: str
) -> None:
    assert run(data, "edge-tiny", sets=sets) == 2
    assert "error:" in capsys.readouterr().err


def test_a_broken_earlier_result_is_refused_before_anything_runs(
    data: Path, fakes: dict[str, FakeReader]
) -> None:
    (data.parent / "accuracy.json").write_text("{}", encoding="utf-8")
    assert run(data, "edge-tiny") == 2
    assert not (data.parent / "work").exists()


def test_readers_are_made_by_name(tmp_path: Path) -> None:
    assert make_reader("edge-tiny", None) == OurReader(name="edge-tiny", pack="edge-tiny")
    chosen = make_reader("edge-tiny:int8:onnxruntime", None)
    assert isinstance(chosen, OurReader)
    assert (chosen.precision, chosen.runtime) == ("int8", "onnxruntime")
    with pytest.raises(ValueError, match="unknown reader"):
        make_reader("tesseract", tmp_path)
    with pytest.raises(ValueError, match="--peers"):
        make_reader("rapidocr", None)
    with pytest.raises(FileNotFoundError):
        make_reader("rapidocr", tmp_path)


def test_a_peer_is_run_once_per_set_and_version(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def pretend(command: Sequence[str]) -> None:
        commands.append([*command])
        FakeReader("numpy").predict(Path(command[-2]), Path(command[-1]))

    monkeypatch.setattr(readers, "pins", lambda peer: {})
    reader = PeerReader(
        name="some-peer",
        peer="some-peer",
        command=("run_some_peer", "--model", "tiny"),
        python=Path(sys.executable),
        run=pretend,
    )
    set_dir, out_dir = data / "mtwi_zh", data.parent / "out"
    reader.predict(set_dir, out_dir)
    reader.predict(set_dir, out_dir)
    expected = ["-m", "benchmarks.peers.run_some_peer", "--model", "tiny"]
    assert [command[1:-2] for command in commands] == [expected]
    monkeypatch.setattr(readers, "pins", lambda peer: {"numpy": "0.0.1"})
    reader.predict(set_dir, out_dir)
    assert len(commands) == 2
