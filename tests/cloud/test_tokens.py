"""The token file and the commands that keep it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tierocr.cloud import commands
from tierocr.cloud.tokens import TokenFile, add_token, read_tokens, revoke_token
from tierocr.shared.errors import TierocrError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "secrets" / "tokens.jsonl"


def test_the_file_never_holds_a_token_and_is_private(file: Path) -> None:
    secret = add_token(file, "kiosk", "2026-01-01")
    assert len(secret) > 43
    assert (
        secret not in file.read_text() and secret.removeprefix("tierocr_") not in file.read_text()
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]
    assert TokenFile(file).owner(secret) == "kiosk"


def test_revoking_one_leaves_the_others(file: Path) -> None:
    one, two = add_token(file, "one", "t1"), add_token(file, "two", "t1")
    tokens = TokenFile(file)
    revoke_token(file, "one", "t2")
    assert tokens.owner(one) is None
    assert tokens.owner(two) == "two"
    assert [(t.name, t.revoked) for t in read_tokens(file)] == [("one", "t2"), ("two", None)]
    again = add_token(file, "one", "t3")
    assert tokens.owner(again) == "one" and tokens.owner(one) is None


@pytest.mark.parametrize("secret", ["", " ", "tierocr_", "\u00e9", "x" * 10_000])
def test_what_is_no_token_opens_nothing(file: Path, secret: str) -> None:
    add_token(file, "kiosk", "now")
    assert TokenFile(file).owner(secret) is None


def test_a_stored_hash_is_no_token(file: Path) -> None:
    add_token(file, "kiosk", "now")
    assert TokenFile(file).owner(read_tokens(file)[0].sha256) is None


@pytest.mark.parametrize("name", ["", "two words", "../x", "a" * 65, "-x", "line\nbreak"])
def test_names_are_plain(file: Path, name: str) -> None:
    with pytest.raises(TierocrError) as caught:
        add_token(file, name, "now")
    assert caught.value.code == "bad_request"
    assert not file.exists()


def test_a_name_has_one_token_in_force(file: Path) -> None:
    add_token(file, "kiosk", "now")
    with pytest.raises(TierocrError, match="already"):
        add_token(file, "kiosk", "now")
    with pytest.raises(TierocrError) as caught:
        revoke_token(file, "other", "now")
    assert caught.value.code == "not_found"


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "{}",
        json.dumps({"name": "x", "sha256": "short", "created": "now"}),
        json.dumps({"name": "x", "sha256": "a" * 64, "created": "now", "more": 1}),
        json.dumps({"name": "x", "sha256": "a" * 64, "created": "now", "revoked": True}),
        json.dumps({"name": 3, "sha256": "a" * 64, "created": "now"}),
    ],
)
def test_a_malformed_line_is_named(file: Path, line: str) -> None:
    add_token(file, "kiosk", "now")
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(TierocrError, match=":2:") as caught:
        TokenFile(file)
    assert caught.value.code == "config_invalid"


def test_a_slip_of_an_editor_locks_nobody_out(file: Path) -> None:
    secret = add_token(file, "kiosk", "now")
    tokens = TokenFile(file)
    file.write_text("oops\n")
    assert tokens.owner(secret) == "kiosk"
    file.unlink()
    assert tokens.owner(secret) == "kiosk"
    other = add_token(file, "other", "now")
    assert tokens.owner(other) == "other" and tokens.owner(secret) is None


class TestCommands:
    def test_add_list_revoke(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commands.token_add("kiosk", tokens_file=file)
        shown = capsys.readouterr()
        assert TokenFile(file).owner(shown.out.strip()) == "kiosk"
        assert shown.out.strip() not in shown.err
        monkeypatch.setenv("TIEROCR_AUTH__TOKENS_FILE", str(file))
        commands.token_list()
        assert "kiosk" in capsys.readouterr().out
        commands.token_revoke("kiosk")
        commands.token_list()
        assert "revoked" in capsys.readouterr().out

    def test_the_file_must_be_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TIEROCR_AUTH__TOKENS_FILE", raising=False)
        with pytest.raises(TierocrError, match="--tokens"):
            commands.token_list()

    def test_serve_checks_and_prints_without_serving(
        self, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        add_token(file, "kiosk", "now")
        config = tmp_path / "cloud.yaml"
        config.write_text("listen: {port: 9000}\nmodel: {pack: edge-tiny}\n")
        commands.serve(
            config=config, tokens_file=file, port=9001, check_config=True, show_config=True
        )
        shown = capsys.readouterr()
        assert "port: 9001" in shown.out and "pack: edge-tiny" in shown.out
        assert "valid" in shown.err
        with pytest.raises(TierocrError) as caught:
            commands.serve(config=config, check_config=True)
        assert caught.value.code == "config_invalid"
        with pytest.raises(TierocrError) as caught:
            commands.serve(config=config, tokens_file=file, pack="none", check_config=True)
        assert caught.value.code == "model_invalid"
