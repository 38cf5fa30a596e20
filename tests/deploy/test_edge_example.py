"""The example settings of the edge: every key is there, known, and what it says of defaults is
true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.deploy.dockerfile import ROOT
from tierocr.edge import agent_commands
from tierocr.edge.settings import EdgeSettings, FolderSinkSettings, WatchSettings
from tierocr.shared.settings import load_settings

EXAMPLE = ROOT / "deploy" / "edge.example.yaml"
_KEY = re.compile(r"(  |    (?:- |  ))(\w+):(?: ([^#]+?))?\s*(?:# (.*))?")
_DEFAULT = re.compile(r"default: ([^\s,;.]+)")


def stated() -> Iterator[tuple[str, Any]]:
    """Each key of the file and the default that the file says it has."""
    section = group = ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(\w+):", line):
            section = match[1]
        elif match := _KEY.fullmatch(line):
            indent, name, value, comment = match.groups()
            other = _DEFAULT.search(comment or "")
            if len(indent) == 2:
                group = f"{section}.{name}"
            path = group if len(indent) == 2 else f"{group}.{name}"
            yield path, yaml.safe_load(other[1] if other else value or "null")
        else:
            assert not line or line.startswith("#"), f"neither key nor comment: {line}"


def test_every_key_is_there_with_its_default() -> None:
    defaults = {
        f"{section}.{key}": value
        for section, keys in EdgeSettings().model_dump(mode="json").items()
        for key, value in keys.items()
    }
    for group, item in (
        ("sources.watch", WatchSettings(folder=Path("inbox"))),
        ("sinks.folder", FolderSinkSettings(folder=Path("results"))),
    ):
        for key, value in item.model_dump(mode="json").items():
            defaults[f"{group}.{key}"] = value
    told = dict(stated())
    assert sorted(told) == sorted(defaults), "deploy/edge.example.yaml lists every setting"
    assert told == defaults


def test_it_is_loaded_and_checked_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(EdgeSettings, file=EXAMPLE, environ={}, overrides={})
    changed = {
        "sources": {"watch": [{"folder": "inbox"}]},
        "sinks": {"folder": [{"folder": "results"}]},
    }
    assert settings == EdgeSettings.model_validate(changed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()
    agent_commands.edge(config=EXAMPLE, check_config=True, show_config=True)
    shown = capsys.readouterr()
    assert shown.err == "the configuration is valid\n"
    assert yaml.safe_load(shown.out)["sources"]["watch"][0]["folder"] == "inbox"
    assert [file.name for file in tmp_path.iterdir()] == ["inbox"], "nothing is started"


def test_it_fits_the_schema_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    agent_commands.edge(show_schema=True)
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")), schema)
