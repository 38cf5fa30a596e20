"""Files of folders that were taken, as they were then: rows in, values out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from tierocr.edge.outbox.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A file of a folder that was taken. `mtime`: nanoseconds."""

    source: str
    path: str
    size: int
    mtime: int


class SeenFiles:
    """One after the other, inside transactions of the database."""

    def __init__(self, database: Database) -> None:
        """See the class."""
        self._run, self._rows = database.run, database.rows

    def of(self, source: str) -> dict[str, tuple[int, int]]:
        """Files of a source that were taken: size and time of change then, by path."""
        rows = self._rows("SELECT path, size, mtime FROM seen WHERE source = ?", source)
        return {os.fsdecode(path): (size, mtime) for path, size, mtime in rows}

    def add(self, seen: Seen) -> None:
        """A file was taken."""
        self._run(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)",
            *(seen.source, os.fsencode(seen.path), seen.size, seen.mtime),
        )

    def remove(self, source: str, paths: Iterable[str]) -> None:
        """These files are no longer there."""
        for path in paths:
            self._run("DELETE FROM seen WHERE source = ? AND path = ?", source, os.fsencode(path))
