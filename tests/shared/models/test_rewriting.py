from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.packs import manifest, write_pack
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Manifest, load_pack
from tierocr.shared.models.rewriting import (
    copy_files,
    dump,
    read_values,
    with_built,
    without_built,
)

DIGEST = "0" * 64
RECORD = {
    "how": "tierocr models build",
    "seed": 1,
    "calibration": "generator",
    "tools": {"nncf": "3.4.0"},
    "measured_on": "a processor",
}


def entry(network: str, runtime: str = "openvino") -> dict[str, Any]:
    ending = "xml" if runtime == "openvino" else "onnx"
    row = {"network": network, "runtime": runtime, "precisions": ["int8"]}
    row["file"] = f"{network}-{runtime}.{ending}"
    return row | ({"weights": f"{network}-{runtime}.bin"} if runtime == "openvino" else {})


def built() -> dict[str, Any]:
    """A manifest with both networks for OpenVINO and the recogniser for TensorRT."""
    rows = [entry("detector"), entry("recogniser"), entry("recogniser", "tensorrt")]
    names = [row[key] for row in rows for key in ("file", "weights") if key in row]
    return with_built(manifest("own"), rows, dict.fromkeys(names, DIGEST), RECORD)


def test_what_was_built_is_added_and_taken_away_again() -> None:
    values = built()
    assert len(Manifest.model_validate(values).built) == 1
    assert len(values["artefacts"]) == 5 and len(values["files"]) == 8
    assert without_built(values) == manifest("own")
    assert without_built(manifest("own")) == manifest("own")


def test_only_what_was_asked_for_is_taken_away() -> None:
    values = without_built(built(), ["recogniser"], ["openvino"])
    assert [a["file"] for a in values["artefacts"][2:]] == [
        "detector-openvino.xml",
        "recogniser-tensorrt.onnx",
    ]
    assert "recogniser-openvino.bin" not in values["files"]
    assert "detector-openvino.bin" in values["files"]
    (record,) = values["built"]
    left = ["detector-openvino.xml", "detector-openvino.bin", "recogniser-tensorrt.onnx"]
    assert record == {"files": left, **RECORD}
    assert "built" not in without_built(without_built(values, ["detector"]), ["recogniser"])


def test_each_build_has_a_record_while_it_has_a_file() -> None:
    other = RECORD | {"seed": 2}
    left = without_built(built(), ["recogniser"], ["openvino"])
    digests = dict.fromkeys(("recogniser-openvino.xml", "recogniser-openvino.bin"), DIGEST)
    values = with_built(left, [entry("recogniser")], digests, other)
    assert [record["seed"] for record in values["built"]] == [1, 2]
    assert values["built"][1]["files"] == [*digests]
    assert [r["seed"] for r in without_built(values, ["recogniser"])["built"]] == [1]
    assert len(Manifest.model_validate(values).built) == 2


def test_a_file_that_something_else_needs_stays() -> None:
    row = entry("detector", "tensorrt") | {"file": "detector.onnx"}
    values = with_built(manifest("own"), [row], {}, RECORD)
    assert "detector.onnx" in without_built(values)["files"]


def test_a_manifest_survives_being_written(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "own")
    values = read_values(folder)
    assert yaml.safe_load(dump(values)) == values
    assert list(yaml.safe_load(dump(values))) == list(values)


def test_a_manifest_is_written_to_be_read() -> None:
    long = "two sheets of paper, and nothing on either of them"
    entries = {"files": {}, "tools": {"nncf": "3.4.0"}, "lines": [long, long, f"{long}: {long}"]}
    row = entry("recogniser")
    row["measured"] = [{"isa": "AVX2", "batch": batch} for batch in (1, 8)]
    row["how"] = f"{long}, {long}"
    assert dump({**entries, "artefacts": [entry("detector", "tensorrt"), row]}) == (
        "files: {}\n"
        "tools: {nncf: 3.4.0}\n"
        "lines:\n"
        f"- {long}\n"
        f"- {long}\n"
        f"- '{long}: {long}'\n"
        "artefacts:\n"
        "- {network: detector, runtime: tensorrt, precisions: [int8], "
        "file: detector-tensorrt.onnx}\n"
        "- network: recogniser\n"
        "  runtime: openvino\n"
        "  precisions: [int8]\n"
        "  file: recogniser-openvino.xml\n"
        "  weights: recogniser-openvino.bin\n"
        "  measured: [{isa: AVX2, batch: 1}, {isa: AVX2, batch: 8}]\n"
        f"  how: {long}, {long}\n"
    )


def test_only_checked_files_are_copied(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "own", needs="no-such-distribution-of-ours")
    target = tmp_path / "copy"
    target.mkdir()
    copy_files(load_pack(folder), read_values(folder), target)
    assert {p.name for p in target.iterdir()} == {"recogniser.onnx", "charset.txt"}
    (folder / "charset.txt").write_bytes(b"another")
    with pytest.raises(TierocrError):
        copy_files(load_pack(folder), read_values(folder), target)
