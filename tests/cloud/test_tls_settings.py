"""The settings of TLS: what is wrong with a file is said with its name, and what is unwise too."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
import trustme

from tests.fakes.certificates import HOSTS, Files, made
from tierocr.cloud import commands
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tls import server_tls
from tierocr.shared.errors import TierocrError
from tierocr.shared.settings import load_settings


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(tmp_path: Path, authority: trustme.CA) -> Files:
    return made(tmp_path, authority)


def complaint(files: Files, **changed: object) -> str:
    values = {"tls": {**files.mutual(), **changed}, "auth": {"allow_anonymous": True}}
    with pytest.raises(TierocrError) as caught:
        server_tls(load_settings(CloudSettings, file=None, environ={}, overrides=values))
    assert caught.value.code == "config_invalid"
    return caught.value.message


@pytest.mark.parametrize("name", ["certificate", "key", "client_ca"])
def test_a_file_that_is_missing_or_is_something_else(
    tmp_path: Path, files: Files, name: str
) -> None:
    nowhere = tmp_path / "nowhere"
    message = complaint(files, **{name: nowhere})
    assert message == f"tls.{name}: cannot read {nowhere}: No such file or directory"
    assert f"tls.{name}: cannot read {tmp_path}" in complaint(files, **{name: tmp_path})
    nowhere.write_text("a shopping list\n")
    message = complaint(files, **{name: nowhere})
    assert message.startswith(f"tls.{name}: ") and str(nowhere) in message


def test_a_key_of_another_certificate(files: Files, authority: trustme.CA) -> None:
    files.put_key(authority.issue_cert("elsewhere.example"))
    assert "tls.key:" in complaint(files)
    assert "is not the key of the certificate" in complaint(files)


def test_a_key_with_a_passphrase(files: Files) -> None:
    # the head of an encrypted key is enough for OpenSSL to ask
    lines = files.key.read_text().splitlines()
    head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n"
    files.key.write_text("\n".join([lines[0], head, *lines[1:]]) + "\n")
    assert "tls.key:" in complaint(files)
    assert "needs a passphrase" in complaint(files)


def test_settings_that_need_each_other(files: Files) -> None:
    for change in (
        {"certificate": None},
        {"client_ca": None},
        {"client_certificates": "none"},
    ):
        assert "tls" in complaint(files, **change)
    assert "tls.client_certificates" in complaint(files, client_certificates="maybe")


def test_key_and_certificate_may_share_a_file(files: Files, authority: trustme.CA) -> None:
    both = authority.issue_cert(*HOSTS).private_key_and_cert_chain_pem.bytes()
    files.certificate.write_bytes(both)
    tls = {"certificate": files.certificate}
    assert server_tls(CloudSettings.model_validate({"tls": tls})) is not None


def test_check_config_looks_at_the_files(tmp_path: Path, files: Files) -> None:
    config = tmp_path / "cloud.yaml"
    config.write_text(f"tls: {{certificate: {files.certificate}, key: {files.client_ca}}}\n")
    with pytest.raises(TierocrError, match=r"tls\.key"):
        commands.serve(config=config, allow_anonymous=True, pack="edge-tiny", check_config=True)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_key_that_all_can_read_is_warned_of(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)  # whatever a library has set the root logger to
    settings = CloudSettings.model_validate({"tls": files.server()})
    server_tls(settings)
    assert not caplog.records
    files.key.chmod(0o644)
    server_tls(settings)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "tls.key" in record.getMessage()


@pytest.mark.parametrize(
    ("host", "warned"),
    [
        ("127.0.0.1", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("", True),
        ("ocr.example.org", True),
    ],
)
def test_tokens_in_clear_text_are_warned_of_once(
    tmp_path: Path,
    files: Files,
    host: str,
    warned: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    values = {"listen": {"host": host}, "auth": {"tokens_file": tmp_path / "tokens"}}
    assert server_tls(CloudSettings.model_validate(values)) is None
    assert ["clear text" in r.getMessage() for r in caplog.records] == [True] * warned
    caplog.clear()
    assert server_tls(CloudSettings.model_validate({**values, "tls": files.server()}))
    assert server_tls(CloudSettings.model_validate({"listen": {"host": host}})) is None
    assert not caplog.records
