"""Settings from a file, the environment and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field, SecretStr, ValidationError, model_validator

from tierocr.shared.errors import TierocrError
from tierocr.shared.settings import Section, load_settings, print_config, settings_schema


class Listen(Section):
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)


class Cloud(Section):
    url: str | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    widths: tuple[int, ...] = (1, 2)
    labels: dict[str, str] = {}


class Settings(Section):
    listen: Listen = Listen()
    cloud: Cloud = Cloud()

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        if self.listen.port == 666:
            raise ValueError("not this port")
        return self


def load(
    text: str | None = None,
    environ: dict[str, str] | None = None,
    *,
    folder: Path | None = None,
    **overrides: Any,
) -> Settings:
    file = None
    if text is not None:
        assert folder is not None
        file = folder / "tierocr.yaml"
        file.write_text(text, encoding="utf-8")
    return load_settings(Settings, file=file, environ=environ or {}, overrides=overrides)


def complaint(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(TierocrError) as caught:
        load(*args, **kwargs)
    assert caught.value.code == "config_invalid"
    return caught.value.message


def test_defaults() -> None:
    assert load() == Settings()


def test_precedence(tmp_path: Path) -> None:
    text = "listen: {host: file, port: 1}\n"
    environ = {"TIEROCR_LISTEN__PORT": "2"}
    assert load(text, folder=tmp_path).listen == Listen(host="file", port=1)
    assert load(text, environ, folder=tmp_path).listen == Listen(host="file", port=2)
    given = load(text, environ, folder=tmp_path, listen={"port": 3, "host": None})
    assert given.listen == Listen(host="file", port=3)


@pytest.mark.parametrize("text", ["", "# nothing\n", "listen:\n", "listen: {}\n", "\ufeff{}\n"])
def test_a_file_may_say_nothing(tmp_path: Path, text: str) -> None:
    assert load(text, folder=tmp_path) == Settings()


def test_the_environment_may_hold_lists_maps_and_null() -> None:
    environ = {
        "TIEROCR_CLOUD__WIDTHS": "[3, 4]",
        "TIEROCR_CLOUD__LABELS": "{a: b}",
        "TIEROCR_CLOUD__URL": "null",
    }
    cloud = load(environ=environ, cloud={}).cloud
    assert cloud.widths == (3, 4) and cloud.labels == {"a": "b"} and cloud.url is None


def test_what_belongs_to_others_is_left_alone() -> None:
    environ = {"TIEROCR_MODELS": "/packs", "TIEROCR_OTHER__KEY": "1", "LISTEN__PORT": "2"}
    assert load(environ=environ) == Settings()


class TestMistakes:
    def test_an_unknown_key_names_the_nearest_and_its_place(self, tmp_path: Path) -> None:
        message = complaint("listen:\n  host: x\n  prot: 3\n", folder=tmp_path)
        assert "tierocr.yaml:3" in message
        assert "unknown key listen.prot" in message
        assert "did you mean listen.port?" in message

    def test_an_unknown_section(self, tmp_path: Path) -> None:
        message = complaint("cluod: {url: x}\n", folder=tmp_path)
        assert "tierocr.yaml:1" in message and "did you mean cloud?" in message

    def test_a_key_in_the_wrong_section(self, tmp_path: Path) -> None:
        message = complaint("listen: {token: x}\n", folder=tmp_path)
        assert "did you mean cloud.token?" in message

    def test_an_unknown_key_in_the_environment(self) -> None:
        message = complaint(environ={"TIEROCR_LISTEN__PROT": "3"})
        assert "TIEROCR_LISTEN__PROT" in message and "did you mean listen.port?" in message

    def test_an_unknown_key_on_the_command_line(self) -> None:
        assert "command line: unknown key listen.prot" in complaint(listen={"prot": 3})

    def test_wrong_types_say_what_was_given_and_where(self, tmp_path: Path) -> None:
        message = complaint("listen: {port: many}\n", folder=tmp_path)
        assert "tierocr.yaml:1: listen.port: should be a valid integer" in message
        assert "got 'many'" in message
        assert "TIEROCR_LISTEN__PORT" in complaint(environ={"TIEROCR_LISTEN__PORT": "70000"})

    def test_all_mistakes_are_named_at_once(self, tmp_path: Path) -> None:
        message = complaint("listen: {port: many, prot: 1}\ncloud: {widths: 5}\n", folder=tmp_path)
        assert len(message.splitlines()) == 3

    def test_values_that_do_not_agree(self) -> None:
        assert "not this port" in complaint(listen={"port": 666})

    def test_a_section_that_is_none(self, tmp_path: Path) -> None:
        assert "tierocr.yaml:1: listen" in complaint("listen: 5\n", folder=tmp_path)

    @pytest.mark.parametrize(
        "text", ["- a\n", "just text\n", "a: b: c\n", "{\n", "a: !!python/x 1"]
    )
    def test_a_file_that_holds_no_sections(self, tmp_path: Path, text: str) -> None:
        assert "tierocr.yaml" in complaint(text, folder=tmp_path)

    def test_a_key_that_stands_twice(self, tmp_path: Path) -> None:
        message = complaint("listen:\n  port: 1\n  port: 2\n", folder=tmp_path)
        assert "tierocr.yaml:3" in message and "line 2" in message

    def test_files_that_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(TierocrError, match="cannot read"):
            load_settings(Settings, file=tmp_path / "none", environ={}, overrides={})
        (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(TierocrError) as caught:
            load_settings(Settings, file=tmp_path / "binary", environ={}, overrides={})
        assert caught.value.code == "config_invalid"


class TestSecrets:
    def test_the_environment_is_taken_as_it_is(self) -> None:
        for secret in ("[not a list", "null", "12345", "{x: y}"):
            token = load(environ={"TIEROCR_CLOUD__TOKEN": secret}).cloud.token
            assert token is not None and token.get_secret_value() == secret

    def test_a_file_beside_the_key(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("s3cret\n")
        cloud = load(f"cloud: {{token_file: {tmp_path / 'secret'}}}\n", folder=tmp_path).cloud
        assert cloud.token is not None and cloud.token.get_secret_value() == "s3cret"

    def test_a_place_of_higher_precedence_wins(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("from the file")
        text = f"cloud: {{token_file: {tmp_path / 'secret'}}}\n"
        cloud = load(text, {"TIEROCR_CLOUD__TOKEN": "set"}, folder=tmp_path).cloud
        assert cloud.token is not None and cloud.token.get_secret_value() == "set"
        assert cloud.token_file is None
        environ = {"TIEROCR_CLOUD__TOKEN_FILE": str(tmp_path / "secret")}
        cloud = load("cloud: {token: low}\n", environ, folder=tmp_path).cloud
        assert cloud.token is not None and cloud.token.get_secret_value() == "from the file"

    def test_both_in_one_place_is_a_mistake(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("x")
        text = f"cloud: {{token: y, token_file: {tmp_path / 'secret'}}}\n"
        assert "not both" in complaint(text, folder=tmp_path)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        message = complaint(f"cloud: {{token_file: {tmp_path / 'none'}}}\n", folder=tmp_path)
        assert "none" in message and "tierocr.yaml:1" in message

    def test_mistakes_and_prints_never_show_one(self, tmp_path: Path) -> None:
        message = complaint("cloud: {token: 123456789}\n", folder=tmp_path)
        assert "cloud.token" in message and "123456789" not in message
        settings = load(cloud={"token": "s3cret"})
        assert "s3cret" not in print_config(settings)
        assert "s3cret" not in repr(settings)


def test_what_is_printed_can_be_loaded_again(tmp_path: Path) -> None:
    settings = load(listen={"port": 9}, cloud={"url": "http://x/\u00e9"})
    assert load(print_config(settings), folder=tmp_path) == settings
    assert list(yaml.safe_load(print_config(settings))) == ["listen", "cloud"]


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        load().listen.port = 1


def test_the_schema_is_closed() -> None:
    schema = settings_schema(Settings)
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"listen", "cloud"}
