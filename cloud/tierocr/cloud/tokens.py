"""Bearer tokens: who may use the service.

A token is 256 random bits, so its plain SHA-256 is stored: a slow or salted hash defends guessable
passwords, and there is nothing to guess here, while every request would pay for it. The file holds
one JSON object a line and never a token. Must not know about HTTP.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tierocr.shared.errors import TierocrError

PREFIX = "tierocr_"
"""Lets secret scanners recognise a token that was checked in."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One line of the file. `created`, `revoked`: ISO 8601 times, `revoked` None while it is
    good.
    """

    name: str
    sha256: str
    created: str
    revoked: str | None = None


def read_tokens(file: Path) -> list[Token]:
    """The tokens in a file. Raises TierocrError `config_invalid` when it is missing or
    malformed.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TierocrError("config_invalid", f"cannot read tokens from {file}: {error}") from error
    tokens = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                tokens.append(_checked(Token(**json.loads(line))))
            except (ValueError, TypeError) as error:
                raise TierocrError(
                    "config_invalid", f"{file}:{number}: not a token: {error}"
                ) from error
    return tokens


def add_token(file: Path, name: str, now: str) -> str:
    """Make a token and store its hash; the token itself is returned this once.

    Raises TierocrError `bad_request` for a name that is taken or malformed.
    """
    tokens = read_tokens(file) if file.exists() else []
    if not _NAME.fullmatch(name):
        raise TierocrError("bad_request", f"{name!r}: use letters, digits, dots, dashes")
    if any(t.name == name and t.revoked is None for t in tokens):
        raise TierocrError("bad_request", f"there is a token {name!r} already; revoke it first")
    secret = PREFIX + secrets.token_urlsafe(32)
    _write(file, [*tokens, Token(name=name, sha256=_hash(secret), created=now)])
    return secret


def revoke_token(file: Path, name: str, now: str) -> None:
    """Mark a token as no longer good. Raises TierocrError `not_found` when there is none."""
    tokens = read_tokens(file)
    if not any(t.name == name and t.revoked is None for t in tokens):
        raise TierocrError("not_found", f"there is no token {name!r} to revoke")
    _write(
        file,
        [replace(t, revoked=now) if t.name == name and not t.revoked else t for t in tokens],
    )


class TokenFile:
    """The tokens of a running service; a change of the file counts from the next request on."""

    def __init__(self, file: Path) -> None:
        """Read the file. Raises TierocrError `config_invalid`."""
        self._file = file
        self._stamp = self._stat()
        self._tokens: Sequence[Token] = read_tokens(file)

    def owner(self, secret: str) -> str | None:
        """The name that a token was given to, None if it is not accepted."""
        self._refresh()
        presented, found = _hash(secret), None
        # No early exit: the time taken says nothing about which token came close.
        for token in self._tokens:
            same = hmac.compare_digest(token.sha256, presented)
            if same and token.revoked is None:
                found = token.name
        return found

    def _refresh(self) -> None:
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._tokens = read_tokens(self._file)
        except TierocrError as error:  # a slip of an editor must not lock every device out
            _log.error("the tokens as they were stay in force: %s", error.message)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def _hash(secret: str) -> str:
    # what comes in a header may be no text; then it is no token either
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _checked(token: Token) -> Token:
    texts = (token.name, token.sha256, token.created)
    if not all(isinstance(t, str) for t in texts) or not re.fullmatch("[0-9a-f]{64}", token.sha256):
        raise ValueError("name, sha256 and created must be texts, sha256 of 64 digits")
    if not isinstance(token.revoked, (str, type(None))):
        raise ValueError("revoked must be a text or null")
    return token


def _write(file: Path, tokens: Sequence[Token]) -> None:
    """Replace the file at once, readable by its owner only."""
    text = "".join(json.dumps(asdict(t)) + "\n" for t in tokens)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made with 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            temporary.write(text)
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
