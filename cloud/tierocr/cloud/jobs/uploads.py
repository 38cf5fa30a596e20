"""The files of a job, from the form that carries them to the disk, chunk by chunk.

Nothing is held whole in memory; each file is safe on the disk before the next one is read.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from tierocr.cloud.bodies import Part
from tierocr.cloud.jobs.disk import Disk, storage_error
from tierocr.cloud.jobs.registry import Reservation
from tierocr.cloud.jobs.states import JobFile
from tierocr.shared.errors import TierocrError

_LONGEST_NAME = 255
_AT_ONCE = 1 << 20
R = TypeVar("R")


class Upload:
    """Writes parts with a file name into a folder, numbered from 0; other parts are left alone."""

    def __init__(
        self, folder: Path, disk: Disk, room: Reservation, *, most_files: int, file_bytes: int
    ) -> None:
        """The folder is made with the first file."""
        self._folder, self._disk, self._room = folder, disk, room
        self._most_files, self._file_bytes = most_files, file_bytes
        self.files: list[JobFile] = []

    @property
    def digest(self) -> str:
        """What identifies the content: names and bytes of all files, in their order."""
        parts = (f"{len(f.name)}:{f.name}{f.sha256}" for f in self.files)
        return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    async def take(self, part: Part) -> None:
        """One part. Raises TierocrError `too_large`, `bad_request`, `over_capacity`."""
        if part.filename is None:
            return
        if len(self.files) >= self._most_files:
            raise TierocrError("too_large", f"more than {self._most_files} files in a job")
        if not self.files:
            await _in_thread(partial(self._disk.make_folder, self._folder))
        file = await _in_thread(partial(self._disk.create, self._folder / str(len(self.files))))
        try:
            size, sha256 = await self._copy(file, part)
            await _in_thread(partial(self._disk.close, file))
        finally:
            file.close()
        if not size:
            raise TierocrError("bad_request", f"file {len(self.files)} is empty")
        name = (part.filename or f"file {len(self.files)}")[:_LONGEST_NAME]
        self.files.append(JobFile(name=_printable(name), bytes=size, sha256=sha256))

    async def finish(self) -> None:
        """All parts were read. Raises TierocrError `bad_request` when there was no file."""
        if not self.files:
            raise TierocrError("bad_request", "the form has no file")
        for folder in (self._folder, self._folder.parent):
            await _in_thread(partial(self._disk.sync_folder, folder))

    async def remove(self) -> None:
        """Nobody wants it."""
        await asyncio.to_thread(self._disk.remove, self._folder)

    async def _copy(self, file: BinaryIO, part: Part) -> tuple[int, str]:
        digest, size, held = hashlib.sha256(), 0, bytearray()
        while chunk := await part.read():
            size += len(chunk)
            if size > self._file_bytes:
                raise TierocrError("too_large", f"a file is over {self._file_bytes} bytes")
            self._room.grow(len(chunk))
            held += chunk
            if len(held) >= _AT_ONCE:
                digest.update(held)
                await _in_thread(partial(self._disk.write, file, bytes(held)))
                held.clear()
        digest.update(held)
        await _in_thread(partial(self._disk.write, file, bytes(held)))
        return size, digest.hexdigest()


def _printable(name: str) -> str:
    """The name without what would confuse whoever shows it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


async def _in_thread(work: Callable[[], R]) -> R:
    """Work on the disk; its errors as the store's."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise storage_error(error) from error
