from __future__ import annotations

import os
from pathlib import Path

import pytest

from tierocr.shared.places import VARIABLE, cache_folder, keep_newest


def test_the_variable_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    assert cache_folder("compiled") == tmp_path / "cache" / "compiled"
    assert (tmp_path / "cache" / "compiled").is_dir()


def test_an_empty_variable_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert cache_folder("compiled") is None


def test_the_users_own_cache_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder("tuning")
    assert folder is not None and folder.name == "tuning" and "tierocr" in folder.parts


def test_where_nothing_can_be_written_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "below"))
    assert cache_folder("compiled") is None


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        (tmp_path / name).write_bytes(b"x" * 10)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "folder").mkdir()
    keep_newest(tmp_path, 25)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "middle", "folder"}
    keep_newest(tmp_path / "missing", 25)
