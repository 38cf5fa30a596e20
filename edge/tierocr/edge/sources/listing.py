"""Looking into a watched folder: which files there are, and the bytes of one.

Only regular files with an ending that is read; no symbolic link is followed, nothing that begins
with a dot is looked at. Names are whatever the system has, text or not.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tierocr.edge.inputs import ENDINGS
from tierocr.edge.sources.watching import Signature
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits


def list_files(folder: Path, *, recursive: bool) -> dict[str, Signature]:
    """Files by their path relative to the folder. Raises OSError when the folder itself cannot be
    listed; what cannot be looked at inside it is left out.
    """
    found: dict[str, Signature] = {}
    _list(str(folder), "", recursive, found)
    return found


def _list(folder: str, prefix: str, recursive: bool, found: dict[str, Signature]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if recursive:
                        _list(entry.path, f"{prefix}{entry.name}/", recursive, found)
                elif _wanted(entry.name) and entry.is_file(follow_symlinks=False):
                    about = os.stat(entry.path, follow_symlinks=False)  # noqa: PTH116
                    found[prefix + entry.name] = signature_of(about)
            except OSError:
                continue


def _wanted(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in ENDINGS  # noqa: PTH122


def signature_of(about: os.stat_result) -> Signature:
    """What tells this state of a file from another."""
    return Signature(size=about.st_size, mtime=about.st_mtime_ns)


def read_file(path: Path, signature: Signature, limits: Limits) -> bytes | None:
    """The bytes of a file, or None if it is no longer as it was. Raises TierocrError `too_large`
    before anything is read, OSError when it cannot be read.
    """
    limits.check_bytes(signature.size)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    # without O_NONBLOCK a pipe that took the file's place would block for ever
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode) or signature_of(before) != signature:
            return None
        data = file.read(limits.max_bytes + 1)
        if signature_of(os.fstat(handle)) != signature or len(data) != signature.size:
            return None
    return data


def unreadable(error: OSError) -> TierocrError:
    """What to say of a file that cannot be opened or read."""
    return TierocrError("bad_image", f"the file cannot be read: {error.strerror or error}")
