"""Putting files away: into another folder, also on another file system, or for good.

The file's bytes are never changed, and no file is lost: what is put away is checked to be the file
that was meant, and one that took its place in the meantime is put back.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path, PurePosixPath

from tierocr.edge.outbox.naming import output_name, plain_name
from tierocr.edge.sources.listing import signature_of
from tierocr.edge.sources.watching import Signature

_CHUNK = 1 << 20
_BAD_NAME = {errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG}


def move_away(path: Path, signature: Signature, folder: Path, name: str) -> Path | None:
    """Move a file to `folder`, under `name` or the nearest that is free. None when it was no
    longer the same file, and stays. Raises OSError when it cannot be moved, and stays.
    """
    try:
        return _move(path, signature, folder, name)
    except OSError as error:
        if error.errno not in _BAD_NAME or plain_name(name) == name:
            raise
        return _move(path, signature, folder, plain_name(name))


def delete(path: Path, signature: Signature) -> bool:
    """Delete a file; False when it was no longer the same, and stays. Raises OSError."""
    aside = path.with_name(f".tierocr-{os.getpid()}-{path.stat().st_ino}")
    os.rename(path, aside)  # noqa: PTH104 - nothing new can take the place of what is checked
    if _is(aside, signature):
        aside.unlink()
        return True
    _put_back(aside, path)
    return False


def _move(path: Path, signature: Signature, folder: Path, name: str) -> Path | None:
    target = folder / PurePosixPath(output_name(name, lambda n: os.path.lexists(folder / n)))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(path, target)  # noqa: PTH104
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return _copy_away(path, signature, target)
    if _is(target, signature):
        return target
    _put_back(target, path)
    return None


def _copy_away(path: Path, signature: Signature, target: Path) -> Path | None:
    """The same across file systems: copy, make safe, then delete."""
    part = target.with_name(f".{target.name}.part")
    try:
        with path.open("rb") as source, part.open("wb") as copy:
            while chunk := source.read(_CHUNK):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        with contextlib.suppress(OSError):  # a share may not take times
            os.utime(part, ns=(signature.mtime, signature.mtime))
        if part.stat().st_size != signature.size:
            part.unlink()
            return None
        os.replace(part, target)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    if delete(path, signature):
        return target
    target.unlink()
    return None


def _is(path: Path, signature: Signature) -> bool:
    return signature_of(path.lstat()) == signature


def _put_back(aside: Path, path: Path) -> None:
    """Give a file its name back, or one beside it where that is taken again."""
    free = output_name(path.name, lambda n: os.path.lexists(path.with_name(n)))
    os.rename(aside, path.with_name(free))  # noqa: PTH104
