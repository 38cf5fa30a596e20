"""TLS and mutual TLS: the settings' files as the context that the server listens with.

Files that are replaced count from the next connection on, clients' authorities included. Must not
know about HTTP; a token is asked for all the same.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
import stat
from pathlib import Path

from tierocr.cloud.settings import CloudSettings, TlsSettings
from tierocr.shared.errors import TierocrError

_VERIFY = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_MISMATCH = "KEY_VALUES_MISMATCH"
_log = logging.getLogger(__name__)

Stamp = tuple[tuple[int, int, int] | None, ...]


class ServerTls:
    """What the server shows and asks for in a handshake, as its files say at that moment."""

    def __init__(self, settings: TlsSettings) -> None:
        """Read the files. Raises TierocrError `config_invalid` that names the setting at fault."""
        self._settings = settings
        self._stamp = _stamp(settings)
        self._current = self.context = server_context(settings)
        # Called in each handshake, also of clients that name no server; takes the whole context's
        # place, so that an authority that is taken out of client_ca is believed no longer.
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        stamp = _stamp(self._settings)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._current = server_context(self._settings)
                _log.info("TLS: the new files are in force")
            except (TierocrError, OSError) as error:  # half a renewal must lock nobody out
                _log.error("TLS: the files as they were stay in force: %s", error)
        connection.context = self._current


def server_tls(settings: CloudSettings) -> ServerTls | None:
    """What the settings ask for; None where the service speaks plain HTTP, with a warning where
    that shows tokens to a network.
    """
    if settings.tls.certificate is not None:
        return ServerTls(settings.tls)
    if settings.auth.tokens_file is not None and not _is_loopback(settings.listen.host):
        _log.warning(
            "tokens cross the network in clear text: %s is reachable from other machines and "
            "tls.certificate is not set; set it, or let a proxy end TLS before this port",
            settings.listen.host or "every address",
        )
    return None


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """TLS 1.2 or newer with the certificate, its key and the clients' authorities.

    Raises TierocrError `config_invalid` that names the setting and the file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_chain(context, settings)
    if settings.client_ca is not None:
        _load_authorities(context, "tls.client_ca", settings.client_ca)
        # A resumed session would not be asked for its certificate again.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    context.verify_mode = _VERIFY[settings.client_certificates]
    return context


def _load_chain(context: ssl.SSLContext, settings: TlsSettings) -> None:
    certificate = settings.certificate
    assert certificate is not None, "the settings make sure"
    # On a context of its own: by itself load_cert_chain does not say which file is at fault.
    _load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), "tls.certificate", certificate)
    at, key = "tls.key", settings.key
    if key is None:
        at, key = "tls.certificate", certificate
    _require_readable(at, key)
    _warn_if_open_to_all(at, key)
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except _Encrypted as error:
        raise _wrong(at, f"{key} needs a passphrase; give a key without one") from error
    except ssl.SSLError as error:
        if error.reason == _MISMATCH:
            raise _wrong(at, f"{key} is not the key of the certificate {certificate}") from error
        why = error.reason or "no private key in PEM form"
        raise _wrong(at, f"cannot use {key} with {certificate}: {why}") from error


def _load_authorities(context: ssl.SSLContext, at: str, file: Path) -> None:
    _require_readable(at, file)
    try:
        context.load_verify_locations(cafile=file)
    except ssl.SSLError as error:
        raise _wrong(at, f"{file} holds no certificate in PEM form") from error


def _require_readable(at: str, file: Path) -> None:
    try:
        file.read_bytes()
    except OSError as error:
        raise _wrong(at, f"cannot read {file}: {error.strerror}") from error


def _warn_if_open_to_all(at: str, key: Path) -> None:
    if os.name == "posix" and key.stat().st_mode & stat.S_IROTH:
        _log.warning("%s: every user of this machine can read %s; chmod 600 it", at, key)


class _Encrypted(Exception):
    """The key needs a passphrase."""


def _no_passphrase() -> str:
    raise _Encrypted


def _wrong(at: str, what: str) -> TierocrError:
    return TierocrError("config_invalid", f"{at}: {what}")


def _stamp(settings: TlsSettings) -> Stamp:
    """Differs once a file was replaced or written."""
    files = (settings.certificate, settings.key, settings.client_ca)
    return tuple(_stat(file) for file in files if file is not None)


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
