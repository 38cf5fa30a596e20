"""Results as files in a folder, one for each format.

A final result is called like its document with the format's ending; a provisional one has
`.provisional` before the ending, and goes once the final one is there. Each is written under a
temporary name, made safe and renamed, so that it is whole or not there, and there once however
often it is delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tierocr.edge.disk import BAD_NAME, Disk, is_full
from tierocr.edge.outbox.naming import plain_name
from tierocr.edge.outbox.values import Due
from tierocr.edge.sinks import Undelivered
from tierocr.edge.sinks.contents import Original, contents
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits

PROVISIONAL = ".provisional"


class FolderSink:
    """One folder; created when something is to be written."""

    def __init__(
        self,
        folder: Path,
        formats: Sequence[str],
        endings: Sequence[str],
        *,
        provisional: bool = True,
        rules: Sequence[str] = (),
        limits: Limits | None = None,
        disk: Disk | None = None,
    ) -> None:
        """`endings`: of these formats. `provisional`: whether provisional results are written."""
        self.name = f"folder:{folder}"
        self._folder, self._formats, self._endings = folder, tuple(formats), tuple(endings)
        self._provisional, self._rules = provisional, tuple(rules)
        self._limits, self._disk = limits, disk or Disk()

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    def occupied(self, output: str) -> bool:
        """Whether a result of that name is there."""
        names = (output, plain_name(output))
        return any(
            os.path.lexists(self._path(name, ending)) for name in names for ending in self._endings
        )

    async def deliver(self, due: Due, original: Original) -> None:
        """Write the results of a version."""
        if not due.delivery.final and not self._provisional:
            return
        try:
            await asyncio.to_thread(self._deliver, due, original)
        except TierocrError as error:
            raise Undelivered(str(error), hopeless=error.code == "not_found") from error
        except OSError as error:
            reason = "the disk is full" if is_full(error) else str(error)
            raise Undelivered(f"{self._folder}: {reason}") from error

    def _deliver(self, due: Due, original: Original) -> None:
        results = contents(
            due.document, self._formats, original, rules=self._rules, limits=self._limits
        )
        output = due.entry.output
        try:
            self._write(output, results, due.delivery.final)
        except OSError as error:
            plain = plain_name(output)
            if error.errno not in BAD_NAME or plain == output:
                raise
            self._write(plain, results, due.delivery.final)

    def _write(self, output: str, results: Sequence[tuple[str, bytes]], final: bool) -> None:
        folder = self._path(output, "").parent
        self._disk.make_folder(folder)
        mark = "" if final else PROVISIONAL
        for ending, data in results:
            self._disk.write(self._path(output, mark + ending), data)
        self._disk.sync_folder(folder)
        if final:
            for ending in self._endings:
                with contextlib.suppress(OSError):
                    self._disk.remove(self._path(output, PROVISIONAL + ending))

    def _path(self, output: str, ending: str) -> Path:
        return self._folder / PurePosixPath(output + ending)
