"""What is signed of a model pack: its name, its version, and the digest of every file. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tierocr.shared.errors import TierocrError

SCHEMA = "tierocr.update/1"
NAME = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
MOST_FILES, MOST_BYTES = 1000, 4 << 30
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a pack."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """`files` by path within the pack; `needs`: the oldest version of tierocr that can use it."""

    name: str
    version: int
    needs: str
    files: Mapping[str, File]

    def pack(self) -> bytes:
        """The bytes that are signed."""
        files = {p: {"size": f.size, "sha256": f.sha256} for p, f in sorted(self.files.items())}
        fields = {"name": self.name, "version": self.version, "needs": self.needs, "files": files}
        return json.dumps({"schema": SCHEMA, **fields}, indent=1).encode()


def read_statement(data: bytes, signature: bytes, trusted: Iterable[Ed25519PublicKey]) -> Statement:
    """A statement that one of the trusted keys has signed. Raises TierocrError `model_invalid`."""
    if not any(_signed(key, signature, data) for key in trusted):
        raise TierocrError("model_invalid", "the file is not signed with a key that is trusted")
    try:
        fields = json.loads(data)
        if fields["schema"] != SCHEMA:
            raise ValueError(f"schema {fields['schema']!r}")
        statement = Statement(
            name=_name(fields["name"]),
            version=int(fields["version"]),
            needs=str(fields["needs"]),
            files={safe_path(p): _file(f) for p, f in fields["files"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TierocrError(
            "model_invalid", f"the signed statement is malformed: {error}"
        ) from error
    if len(statement.files) > MOST_FILES or _total(statement) > MOST_BYTES:
        raise TierocrError("model_invalid", "the pack has too many or too large files")
    if "pack.yaml" not in statement.files:
        raise TierocrError("model_invalid", "there is no pack.yaml in it")
    return statement


def check_fits(statement: Statement, *, running: str, installed: int | None) -> None:
    """Raise TierocrError `model_invalid` unless the pack may take the place of the installed
    version on this release of tierocr.
    """
    if _numbers(running) < _numbers(statement.needs):
        message = f"it needs tierocr {statement.needs} or newer; this is {running}"
        raise TierocrError("model_invalid", message)
    if installed is not None and statement.version < installed:
        message = f"version {statement.version} is older than {installed}, which is installed"
        raise TierocrError("model_invalid", f"{message}; `tierocr models rollback` goes back")


def safe_path(text: str) -> str:
    """A path that stays inside. Raises ValueError."""
    path = PurePosixPath(text)
    odd = "\\" in text or ":" in text or any(ord(c) < 32 for c in text)
    if odd or path.is_absolute() or str(path) != text or ".." in path.parts or not path.parts:
        raise ValueError(f"{text!r} is no path inside the pack")
    return text


def _signed(key: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a pack")
    return text


def _file(fields: Mapping[str, object]) -> File:
    size, sha256 = fields["size"], str(fields["sha256"])
    if not isinstance(size, int) or size < 0 or not _DIGEST.fullmatch(sha256):
        raise ValueError("a file needs its size and SHA-256")
    return File(size=size, sha256=sha256)


def _total(statement: Statement) -> int:
    return sum(file.size for file in statement.files.values())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall("[0-9]+", version)[:3])
