"""The files that the agent writes, and what it means when writing fails.

The only part that touches them, so that a test can hand in a disk that is full.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tierocr.shared.errors import TierocrError

NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}
BAD_NAME = {errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG}
"""What a file system says to a name that it does not take."""

PART = ".part"


class Disk:
    """Plain files. Every method may raise OSError."""

    def make_folder(self, folder: Path, mode: int = 0o777) -> None:
        """A folder, if it is not there; its parents too."""
        folder.mkdir(parents=True, exist_ok=True, mode=mode)

    def write(self, path: Path, data: bytes) -> None:
        """A whole file, safe against a loss of power; its name is safe after `sync_folder`."""
        part = path.with_name(path.name + PART)
        try:
            with part.open("wb") as file:
                self.put(file.fileno(), data)
                os.fsync(file.fileno())
            os.replace(part, path)  # noqa: PTH105 - atomic, over an existing file too
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise

    def append(self, path: Path, data: bytes) -> None:
        """A few bytes more; they outlive the process, not a loss of power."""
        with path.open("ab", buffering=0) as file:
            self.put(file.fileno(), data)

    def put(self, handle: int, data: bytes) -> None:
        """All the bytes into an open file."""
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder safe, where the system can do that."""
        if os.name == "nt":
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # some network shares cannot
                os.fsync(handle)
        finally:
            os.close(handle)

    def read(self, path: Path) -> bytes:
        """All of it."""
        return path.read_bytes()

    def names(self, folder: Path) -> list[str]:
        """What stands in a folder."""
        return [path.name for path in folder.iterdir()]

    def remove(self, path: Path) -> None:
        """The file, if it is there."""
        path.unlink(missing_ok=True)

    def free(self, folder: Path) -> int:
        """Bytes that may still be written there."""
        return shutil.disk_usage(folder).free


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Raise TierocrError instead: `over_capacity` when the disk is full, else `output_failed`."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if is_full(error):
            raise TierocrError("over_capacity", "the disk is full") from error
        raise TierocrError("output_failed", f"cannot be stored: {error}") from error


def is_full(error: BaseException | None) -> bool:
    """Whether space is what is missing."""
    if isinstance(error, sqlite3.OperationalError):
        return "full" in str(error)
    return isinstance(error, OSError) and error.errno in NO_SPACE
