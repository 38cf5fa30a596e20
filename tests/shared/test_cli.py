from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tierocr.shared.cli import GROUP, build, main
from tierocr.shared.models.store import VARIABLE

COMMANDS = sorted(entry.name for entry in metadata.entry_points(group=GROUP))


def help_of(*words: str) -> str:
    result = CliRunner().invoke(build([*words, "--help"]), [*words, "--help"])
    assert result.exit_code == 0, result.output
    return result.output


def run_main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["tierocr", *arguments])
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code or 0
    assert isinstance(code, int)
    return (code, *capsys.readouterr())


def test_the_commands_of_the_design_are_there() -> None:
    assert {"read", "demo", "doctor", "models.list", "models.verify", "models.fetch"} <= {*COMMANDS}
    assert {"cloud.serve", "cloud.token.add"} <= {*COMMANDS}


def test_help_lists_every_command() -> None:
    told = help_of()
    assert all(name.split(".")[0] in told for name in COMMANDS)


@pytest.mark.parametrize("group", sorted({n.rpartition(".")[0] for n in COMMANDS} - {""}))
def test_help_of_a_group_lists_its_commands(group: str) -> None:
    told = help_of(*group.split("."))
    inside = [
        n.removeprefix(f"{group}.").split(".")[0] for n in COMMANDS if n.startswith(group + ".")
    ]
    assert inside and all(name in told for name in inside)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    told = help_of(*name.split("."))
    assert f"{' '.join(name.split('.'))} [OPTIONS]" in told
    assert len(told.splitlines()) > 4


def test_nested_commands_run() -> None:
    arguments = ["models", "verify", "edge-tiny"]
    result = CliRunner().invoke(build(arguments), arguments)
    assert result.exit_code == 0
    assert "edge-tiny" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["models"]])
def test_without_a_command_help_is_shown(arguments: list[str]) -> None:
    result = CliRunner().invoke(build(arguments), arguments)
    assert "Usage" in result.output and result.exit_code in (0, 2)


@pytest.mark.parametrize(
    "arguments",
    [["raed", "x"], ["models", "lst"], ["--nonsense"], ["models", "list", "--nonsense"]],
)
def test_a_misspelt_word_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = run_main(monkeypatch, capsys, *arguments)
    assert code == 2 and out == "" and arguments[-1 if arguments[-1] != "x" else 0] in err


def test_an_expected_failure_is_one_line_and_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_main(
        monkeypatch, capsys, "models", "fetch", "no-such-pack", "--wheel", "gone.whl"
    )
    assert code == 2 and out == ""
    (line,) = err.splitlines()
    assert line.startswith("tierocr: ") and "no-such-pack" in line


def test_a_failure_with_a_long_story_is_one_line_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "pack.yaml").write_text("[", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(b"")
    code, _, err = run_main(monkeypatch, capsys, "read", "a.png", "--pack", "damaged")
    (line,) = err.splitlines()
    assert code == 2 and line.startswith("tierocr: ") and "damaged" in line


def test_the_version_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_main(monkeypatch, capsys, "--version")
    assert (code, out, err) == (0, f"tierocr {metadata.version('tierocr')}\n", "")


def test_a_command_of_one_tier_does_not_import_the_other() -> None:
    script = (
        "import sys; from tierocr.shared.cli import build; build(['models', 'list']);"
        "print([m for m in sys.modules if m.startswith(('tierocr.edge.', 'tierocr.cloud.'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
