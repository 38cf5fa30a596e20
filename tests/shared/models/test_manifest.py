from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tierocr.shared.engines import EngineOptions, NetworkFacts, open_engine
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import digest, load_pack
from tierocr.shared.models.store import find_pack

MakePack = Callable[..., Path]


def refusal(call: Callable[[], object]) -> str:
    """The message of the `model_invalid` that a call must raise."""
    with pytest.raises(TierocrError) as caught:
        call()
    assert caught.value.code == "model_invalid"
    return caught.value.message


def installed(distribution: str, version: str, path: str) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        values["files"]["detector.onnx"]["installed"] = {
            "distribution": distribution,
            "version": version,
            "path": path,
        }

    return change


def test_a_pack_hands_out_its_checked_files(make_pack: MakePack) -> None:
    folder = make_pack()
    pack = load_pack(folder)
    pack.verify()
    assert pack.name == "small" and pack.folder == folder
    assert pack.file("charset.txt") == folder / "charset.txt"
    assert pack.artefact("detector", "openvino", "bf16") == folder / "detector.onnx"
    assert pack.artefact("recogniser", "openvino", "f32") == folder / "recogniser.onnx"
    assert pack.manifest.detector.facts().side == 640
    assert pack.charset() == ("a", "b", " ")
    facts = pack.manifest.recogniser.facts(pack.charset())
    assert facts.charset == ("a", "b", " ") and facts.end_padding == 4


def test_a_changed_file_is_refused(make_pack: MakePack) -> None:
    folder = make_pack()
    (folder / "detector.onnx").write_bytes(b"another detector")
    pack = load_pack(folder)
    pack.file("recogniser.onnx")
    message = refusal(lambda: pack.artefact("detector", "openvino", "f32"))
    assert "small" in message and "detector.onnx" in message and "SHA-256" in message
    assert digest(folder / "detector.onnx")[:12] in message
    refusal(pack.verify)


def test_a_missing_file_is_refused(make_pack: MakePack) -> None:
    folder = make_pack()
    (folder / "charset.txt").unlink()
    assert "charset.txt" in refusal(load_pack(folder).charset)


def test_a_file_that_is_not_listed_is_refused(make_pack: MakePack) -> None:
    folder = make_pack()
    (folder / "extra.bin").write_bytes(b"")
    assert "extra.bin" in refusal(lambda: load_pack(folder).file("extra.bin"))


def test_an_artefact_the_pack_lacks_is_refused_with_what_it_has(make_pack: MakePack) -> None:
    pack = load_pack(make_pack())
    for runtime, precision in (("openvino", "int8"), ("tensorrt", "f32")):
        message = refusal(lambda: pack.artefact("detector", runtime, precision))  # noqa: B023
        assert f"{runtime} {precision}" in message
        assert "openvino f32" in message and "openvino bf16" in message


def test_a_distribution_that_is_not_installed_is_named(make_pack: MakePack) -> None:
    change = installed("no-such-distribution-of-ours", "1.2.3", "a/b.onnx")
    message = refusal(load_pack(make_pack(change=change)).verify)
    assert "no-such-distribution-of-ours==1.2.3" in message and "pip install" in message


def test_another_version_of_a_distribution_is_refused(make_pack: MakePack) -> None:
    change = installed("pyyaml", "0.0.1", "yaml/__init__.py")
    message = refusal(load_pack(make_pack(change=change)).verify)
    assert "pyyaml==0.0.1" in message and metadata.version("pyyaml") in message


def test_a_file_of_another_distribution_is_found_and_checked(make_pack: MakePack) -> None:
    distribution = metadata.distribution("pyyaml")
    path = Path(str(distribution.locate_file("yaml/__init__.py")))

    def right(values: dict[str, Any]) -> None:
        installed("pyyaml", distribution.version, "yaml/__init__.py")(values)
        values["files"]["detector.onnx"]["sha256"] = digest(path)

    assert load_pack(make_pack(change=right)).file("detector.onnx") == path
    wrong = installed("pyyaml", distribution.version, "yaml/__init__.py")
    assert "SHA-256" in refusal(load_pack(make_pack("other", change=wrong)).verify)
    gone = installed("pyyaml", distribution.version, "yaml/gone.py")
    assert "gone.py" in refusal(load_pack(make_pack("third", change=gone)).verify)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"just text",
        b"[1, 2",
        b"key: [unclosed",
        b"schema: tierocr.pack/1\n",
        b"\xff\xfe\x00",
        b"a: &x [*x]",
        b"- 1\n- 2\n",
        b"!!python/object/apply:os.getcwd []",
    ],
)
def test_a_malformed_manifest_is_refused(make_pack: MakePack, content: bytes) -> None:
    folder = make_pack()
    (folder / "pack.yaml").write_bytes(content)
    assert "pack.yaml" in refusal(lambda: load_pack(folder))


def with_weights(values: dict[str, Any]) -> None:
    """The recogniser in INT8 too: in two files for OpenVINO, in two versions for TensorRT."""
    row = {"network": "recogniser", "precisions": ["int8"]}
    weights = {"file": "recogniser.onnx", "weights": "charset.txt"}
    values["artefacts"] += [
        row | {"runtime": "openvino"} | weights,
        row | {"runtime": "tensorrt", "target": "trt8", "file": "recogniser.onnx"},
        row | {"runtime": "tensorrt", "target": "trt10", "file": "detector.onnx"},
    ]


def test_the_second_file_of_an_artefact_is_checked_as_well(make_pack: MakePack) -> None:
    folder = make_pack(change=with_weights)
    whole = load_pack(folder).artefact("recogniser", "openvino", "int8")
    assert whole == folder / "recogniser.onnx"
    (folder / "charset.txt").write_bytes(b"other weights")
    pack = load_pack(folder)
    assert pack.artefact("recogniser", "openvino", "f32") == folder / "recogniser.onnx"
    assert "charset.txt" in refusal(lambda: pack.artefact("recogniser", "openvino", "int8"))


def test_an_artefact_is_chosen_by_the_release_it_is_for(make_pack: MakePack) -> None:
    folder = make_pack(change=with_weights)
    pack = load_pack(folder)
    for target, file in (("trt8", "recogniser"), ("trt10", "detector"), (None, "recogniser")):
        found = pack.artefact("recogniser", "tensorrt", "int8", target)
        assert found == folder / f"{file}.onnx"
    refusal(lambda: pack.artefact("recogniser", "tensorrt", "int8", "trt9"))


def without(section: str) -> Callable[[dict[str, Any]], None]:
    return lambda values: values.pop(section)


def setting(section: str, key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda values: values[section].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (without("licence"), "licence"),
        (without("recogniser"), "recogniser"),
        (setting("detector", "sied", 640), "sied"),
        (setting("detector", "mean", [0.5]), "mean"),
        (setting("recogniser", "decoder", "attention"), "decoder"),
        (setting("files", "charset.txt", {"sha256": "abc"}), "sha256"),
        (lambda values: values.update(schema="tierocr.pack/2"), "schema"),
    ],
)
def test_the_wrong_entry_of_a_manifest_is_named(
    make_pack: MakePack, change: Callable[[dict[str, Any]], object], named: str
) -> None:
    folder = make_pack(change=change)
    assert named in refusal(lambda: load_pack(folder))


def test_a_folder_without_a_manifest_is_no_pack(tmp_path: Path) -> None:
    assert "pack.yaml" in refusal(lambda: load_pack(tmp_path))
    assert "pack.yaml" in refusal(lambda: load_pack(tmp_path / "gone"))


# The pack that is shipped


def test_the_shipped_pack_is_whole() -> None:
    pack = find_pack("edge-tiny")
    pack.verify()
    assert pack.manifest.licence == "Apache-2.0"
    for name, entry in pack.manifest.origin.files.items():
        assert pack.manifest.files[name].sha256 == entry.sha256  # taken over unchanged


@pytest.mark.parametrize("runtime", ["openvino", "onnxruntime"])
def test_the_shipped_charset_fits_the_network(runtime: str) -> None:
    pack = find_pack("edge-tiny")
    charset = pack.charset()
    assert all(len(c) >= 1 for c in charset)
    assert charset[-1] == " " and "\n" not in charset and "\u3000" not in charset
    assert {*"09azAZ中国€%.,:;-/()"} <= set(charset)
    model = pack.artefact("recogniser", runtime, "f32")
    network = NetworkFacts(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    engine = open_engine(runtime, model, network, EngineOptions(threads=1))
    entry = pack.manifest.recogniser
    grey = np.full((1, entry.height, entry.min_width, 3), 128, dtype=np.uint8)
    (output,) = engine.run([grey])
    assert output.values.shape == (1, entry.min_width // entry.stride, len(charset) + 1)
    assert output.values.sum(axis=2) == pytest.approx(1, abs=1e-4)
