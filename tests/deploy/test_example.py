"""The example settings: every key is there, known, and what it says of defaults is true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.dockerfile import ROOT
from tierocr.cloud import commands
from tierocr.cloud.decoding import SUPPORTED
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tokens import add_token
from tierocr.shared.settings import load_settings

EXAMPLE = ROOT / "deploy" / "cloud.example.yaml"
_KEY = re.compile(r"  (\w+): ([^#]+?)\s*(?:# (.*))?")
_DEFAULT = re.compile(r"default: ([^\s,;.]+)")

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="written for systems with decoder processes")


def stated() -> Iterator[tuple[str, Any]]:
    """Each key of the file and the default that the file says it has."""
    section = ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(\w+):", line):
            section = match[1]
        elif match := _KEY.fullmatch(line):
            name, value, comment = match.groups()
            other = _DEFAULT.search(comment or "")
            yield f"{section}.{name}", yaml.safe_load(other[1] if other else value)
        else:
            assert not line or line.startswith("#"), f"neither key nor comment: {line}"


def test_every_key_is_there_with_its_default() -> None:
    defaults = {
        f"{section}.{key}": value
        for section, keys in CloudSettings().model_dump(mode="json").items()
        for key, value in keys.items()
    }
    told = dict(stated())
    assert sorted(told) == sorted(defaults), "deploy/cloud.example.yaml lists every setting"
    assert told == defaults


def test_it_is_loaded_and_checked_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(CloudSettings, file=EXAMPLE, environ={}, overrides={})
    changed = {"auth": {"tokens_file": Path("tokens.jsonl")}, "jobs": {"folder": Path("jobs")}}
    assert settings == CloudSettings.model_validate(changed)
    monkeypatch.chdir(tmp_path)
    secret = add_token(Path("tokens.jsonl"), "kiosk", "now")
    commands.serve(config=EXAMPLE, pack="edge-tiny", check_config=True, show_config=True)
    shown = capsys.readouterr()
    assert shown.err == "the configuration is valid\n"
    assert yaml.safe_load(shown.out)["jobs"]["folder"] == "jobs"
    assert secret not in shown.out
    assert [file.name for file in tmp_path.iterdir()] == ["tokens.jsonl"], "nothing is started"
