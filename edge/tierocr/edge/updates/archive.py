"""The file that an update comes in: a plain tar with the statement first, its signature, then the
pack's files.

Nothing is written before the signature was checked, and nothing that the statement does not list.
Whatever is no ordinary file, stands elsewhere or comes twice is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from tierocr.edge.disk import Disk
from tierocr.edge.updates.statement import File, Statement, read_statement, safe_path
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import digest, load_pack

STATEMENT, SIGNATURE, FOLDER = "statement.json", "statement.sig", "pack/"
_MOST_STATEMENT = 1 << 20
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


class Update:
    """An open file whose statement is signed by somebody who is trusted."""

    def __init__(self, tar: tarfile.TarFile, trusted: Sequence[Ed25519PublicKey]) -> None:
        """Raises TierocrError `model_invalid`."""
        self._tar = tar
        data = self._first(STATEMENT, _MOST_STATEMENT)
        self.statement = read_statement(data, self._first(SIGNATURE, 64), trusted)

    def extract(self, folder: Path) -> None:
        """Write all files into a folder, checked. Raises TierocrError `model_invalid`, or
        `output_failed` when they cannot be written.
        """
        missing = dict(self.statement.files)
        while (member := self._tar.next()) is not None:
            path = member.name.removeprefix(FOLDER)
            expected = missing.pop(path, None)
            if expected is None or member.name == path or not _is_plain(member):
                raise TierocrError("model_invalid", f"{member.name!r} must not be in the file")
            if member.size != expected.size:
                raise TierocrError("model_invalid", f"{path} has not the size that was signed")
            self._write(member, folder / safe_path(path), expected)
        if missing:
            raise TierocrError("model_invalid", f"{min(missing)} is missing in the file")

    def _write(self, member: tarfile.TarInfo, target: Path, expected: File) -> None:
        source = self._tar.extractfile(member)
        assert source is not None
        hasher = hashlib.sha256()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                while block := source.read(1 << 20):
                    hasher.update(block)
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            Disk().sync_folder(target.parent)
        except OSError as error:  # a full disk says nothing about the update
            raise TierocrError("output_failed", f"cannot write {target}: {error}") from error
        if hasher.hexdigest() != expected.sha256:
            raise TierocrError("model_invalid", f"{target.name} is not what was signed")

    def _first(self, name: str, most: int) -> bytes:
        member = self._tar.next()
        if member is None or member.name != name or not _is_plain(member) or member.size > most:
            raise TierocrError("model_invalid", f"the file does not begin with {name}")
        source = self._tar.extractfile(member)
        assert source is not None
        return source.read()


@contextmanager
def opened(file: Path, trusted: Sequence[Ed25519PublicKey]) -> Iterator[Update]:
    """Open an update. Raises TierocrError `model_invalid`."""
    try:
        with tarfile.open(file, "r:") as tar:
            yield Update(tar, trusted)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise TierocrError("model_invalid", f"{file} is no update: {error}") from error
    except OSError as error:
        raise TierocrError("model_invalid", f"cannot read {file}: {error}") from error


def write_update(pack: Path, target: Path, key: Ed25519PrivateKey, *, needs: str) -> Statement:
    """Make an update of a pack; the same pack and key give the same bytes. Raises TierocrError
    `model_invalid` for a pack that is damaged, `output_failed`.
    """
    found = load_pack(pack)
    found.verify()
    names = ["pack.yaml", *(n for n, f in found.manifest.files.items() if f.installed is None)]
    files = {
        safe_path(n): File(size=(pack / n).stat().st_size, sha256=digest(pack / n))
        for n in sorted(names)
    }
    statement = Statement(name=found.name, version=found.manifest.version, needs=needs, files=files)
    data = statement.pack()
    try:
        with tarfile.open(target, "w:", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, STATEMENT, data)
            _add(tar, SIGNATURE, key.sign(data))
            for name in files:
                _add(tar, FOLDER + name, (pack / name).read_bytes())
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {target}: {error}") from error
    return statement


def private_key(file: Path) -> Ed25519PrivateKey:
    """The key in a PEM file. Raises TierocrError `config_invalid`."""
    try:
        key = load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise TierocrError("config_invalid", f"{file} holds no private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise TierocrError("config_invalid", f"{file} holds no Ed25519 key")
    return key


def public_keys(files: Sequence[Path]) -> list[Ed25519PublicKey]:
    """The keys in PEM files. Raises TierocrError `config_invalid`."""
    keys = []
    for file in files:
        try:
            key = load_pem_public_key(file.read_bytes())
        except (OSError, ValueError, UnsupportedAlgorithm) as error:
            raise TierocrError("config_invalid", f"{file} holds no public key: {error}") from error
        if not isinstance(key, Ed25519PublicKey):
            raise TierocrError("config_invalid", f"{file} holds no Ed25519 key")
        keys.append(key)
    if not keys:
        raise TierocrError("config_invalid", "no key is trusted: name one with --trust")
    return keys


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.type in _PLAIN and not member.issparse()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))
