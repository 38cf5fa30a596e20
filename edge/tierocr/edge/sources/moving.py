"""Putting files away: into another folder, also on another file system, or for good.

The file's bytes are never changed, and no file is lost: it gets a hidden name first, under which
nothing new can take its place, and is then checked to be the file that was meant; another one gets
its name back. So does what a kill has left under such a name, at the next start.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path, PurePosixPath

from tierocr.edge.disk import BAD_NAME
from tierocr.edge.outbox.naming import output_name, plain_name
from tierocr.edge.sources.listing import signature_of
from tierocr.edge.sources.watching import Signature

ASIDE = ".tierocr-"
"""Before the name of a file that is being put away."""

_CHUNK = 1 << 20


def move_away(path: Path, signature: Signature, folder: Path, name: str) -> Path | None:
    """Move a file to `folder`, under `name` or the nearest that is free. None when it was no
    longer the same file, and stays. Raises OSError when it cannot be moved, and stays.
    """
    try:
        return _move(path, signature, folder, name)
    except OSError as error:
        if error.errno not in BAD_NAME or plain_name(name) == name:
            raise
        return _move(path, signature, folder, plain_name(name))


def delete(path: Path, signature: Signature) -> bool:
    """Delete a file; False when it was no longer the same, and stays. Raises OSError."""
    aside = _set_aside(path, signature)
    if aside is None:
        return False
    aside.unlink()
    return True


def restore(folder: Path, *, recursive: bool) -> list[Path]:
    """Give files their names back that a kill has left under hidden ones. Raises OSError when the
    folder cannot be listed.
    """
    found = []
    for path in list(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.name.startswith(ASIDE) and path.is_file():
            found.append(_put_back(path, path.with_name(path.name.removeprefix(ASIDE))))
        elif recursive and path.is_dir() and not path.name.startswith("."):
            with contextlib.suppress(OSError):
                found += restore(path, recursive=True)
    return found


def _move(path: Path, signature: Signature, folder: Path, name: str) -> Path | None:
    free = output_name(name, lambda n: os.path.lexists(folder / n))
    target = folder / PurePosixPath(free)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = _set_aside(path, signature)
    if aside is None:
        return None
    try:
        try:
            os.rename(aside, target)  # noqa: PTH104
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(aside, signature, target)
            aside.unlink()
    except OSError:
        if aside.exists():
            _put_back(aside, path)
        raise
    return target


def _copy(path: Path, signature: Signature, target: Path) -> None:
    """A whole copy on another file system, safe before the name is there."""
    part = target.with_name(f".{target.name}.part")
    try:
        with path.open("rb") as source, part.open("wb") as copy:
            while chunk := source.read(_CHUNK):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        with contextlib.suppress(OSError):  # a share may not take times
            os.utime(part, ns=(signature.mtime, signature.mtime))
        os.replace(part, target)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _set_aside(path: Path, signature: Signature) -> Path | None:
    """The file under its hidden name; None when it was another one, which has its name back."""
    aside = path.with_name(ASIDE + path.name)
    os.rename(path, aside)  # noqa: PTH104
    if signature_of(aside.lstat()) == signature:
        return aside
    _put_back(aside, path)
    return None


def _put_back(aside: Path, path: Path) -> Path:
    """Give a file its name back, or one beside it where that is taken again."""
    free = output_name(path.name, lambda n: os.path.lexists(path.with_name(n)))
    os.rename(aside, path.with_name(free))  # noqa: PTH104
    return path.with_name(free)
