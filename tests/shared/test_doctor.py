from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.packs import write_pack
from tierocr.shared.doctor import MISSING, NOTE, OK, Finding, examine
from tierocr.shared.models.store import VARIABLE


@pytest.fixture(autouse=True)
def no_models_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def by_name() -> dict[str, Finding]:
    findings = examine()
    assert len({f.what for f in findings}) == len(findings)
    return {f.what: f for f in findings}


def test_a_whole_installation_lacks_nothing() -> None:
    found = by_name()
    assert {"machine", "memory", "openvino", "onnxruntime", "pack edge-tiny"} <= found.keys()
    assert all(f.state in (OK, NOTE, MISSING) and f.detail for f in found.values())
    assert [f.what for f in found.values() if f.state == MISSING] == []
    assert "CPU" in found["openvino"].detail and "CPU" in found["onnxruntime"].detail
    assert "CPUs may be used" in found["machine"].detail
    assert "digests match" in found["pack edge-tiny"].detail


def test_a_damaged_pack_is_missing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_pack(tmp_path / "edge-own")
    (folder / "detector.onnx").write_bytes(b"changed")
    (tmp_path / "edge-odd").mkdir()
    (tmp_path / "edge-odd" / "pack.yaml").write_text("[", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    found = by_name()
    assert found["pack edge-own"].state == MISSING
    assert "SHA-256" in found["pack edge-own"].detail
    assert found["pack edge-odd"].state == MISSING
    assert found["pack edge-tiny"].state == OK


def test_a_cloud_pack_without_its_extra_is_a_note_that_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(tmp_path / "cloud-own", needs="no-such-distribution-of-ours")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    finding = by_name()["pack cloud-own"]
    assert finding.state == NOTE
    assert "pip install 'tierocr[cloud]'" in finding.detail
