from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tierocr.cloud.forge.quantise import commands
from tierocr.shared.cli import build
from tierocr.shared.errors import TierocrError


def call(*arguments: str) -> Result:
    return CliRunner().invoke(build(arguments), arguments)


@pytest.mark.parametrize("command", ["build", "gate"])
def test_without_the_extra_it_says_how_to_get_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "EXTRA", ("onnxruntime", "no_such_module_of_ours"))
    out = [str(tmp_path / "out")] if command == "build" else []
    result = call("models", command, "edge-tiny", *out)
    assert isinstance(result.exception, TierocrError)
    assert result.exception.code == "config_invalid"
    assert "no_such_module_of_ours" in result.exception.message
    assert "pip install 'tierocr[quantise]'" in result.exception.message
    assert "onnxruntime" not in result.exception.message


def test_what_cannot_be_asked_for_is_a_usage_error(tmp_path: Path) -> None:
    for option, value in (("--target", "cuda"), ("--network", "none"), ("--seed", "-1")):
        result = call("models", "build", "edge-tiny", str(tmp_path / "out"), option, value)
        assert result.exit_code == 2
