"""The files under the job store, and what it means when writing fails.

The only part that touches them, so that a test can hand in a disk that is full.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path
from typing import BinaryIO

from tierocr.cloud.admission import Busy
from tierocr.shared.errors import TierocrError

RETRY_SECONDS = 30
_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}


class Disk:
    """Plain files. Every method may raise OSError."""

    def make_folder(self, folder: Path) -> None:
        """A new folder; its parents too."""
        folder.mkdir(parents=True, mode=0o700)

    def create(self, file: Path) -> BinaryIO:
        """A new file, to be written and closed."""
        return file.open("xb")

    def write(self, file: BinaryIO, data: bytes) -> None:
        """Append."""
        file.write(data)

    def close(self, file: BinaryIO) -> None:
        """Close the file once it is safe against a loss of power."""
        try:
            file.flush()
            os.fsync(file.fileno())
        finally:
            file.close()

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder safe, where the system can do that."""
        if os.name == "nt":
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self, file: Path) -> bytes:
        """All of it."""
        return file.read_bytes()

    def remove(self, folder: Path) -> None:
        """The folder and all in it, if it is there."""
        shutil.rmtree(folder, ignore_errors=True)

    def free(self, folder: Path) -> int:
        """Bytes that may still be written there."""
        return shutil.disk_usage(folder).free


def no_room(why: str) -> Busy:
    """`over_capacity`: the store can hold nothing more now."""
    return Busy(why, retry_after=RETRY_SECONDS)


def storage_error(error: OSError | sqlite3.Error) -> TierocrError:
    """What to tell when writing or reading failed: `over_capacity` for a full disk, else
    `unavailable`.
    """
    full = isinstance(error, sqlite3.OperationalError) and "disk is full" in str(error)
    if full or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        return no_room("the disk under the job store is full")
    return TierocrError("unavailable", f"the job store cannot be used: {error}")
