"""Jobs as values, and disks that misbehave."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, BinaryIO

from tierocr.cloud.jobs.disk import Disk
from tierocr.cloud.jobs.states import Job, JobFile


def some_job(number: int = 1, owner: str = "kiosk", files: int = 1, **more: Any) -> Job:
    """A job that has just come."""
    return Job(
        id=f"job{number}",
        number=number,
        owner=owner,
        created=0.0,
        files=tuple(JobFile(name=f"{n}.png", bytes=1000, sha256="0" * 64) for n in range(files)),
        **more,
    )


class FullDisk(Disk):
    """A disk on which no upload can be written while `full`; it says that there is room."""

    def __init__(self) -> None:
        self.full = False

    def write(self, file: BinaryIO, data: bytes) -> None:
        self._check()
        super().write(file, data)

    def make_folder(self, folder: Path) -> None:
        self._check()
        super().make_folder(folder)

    def _check(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
