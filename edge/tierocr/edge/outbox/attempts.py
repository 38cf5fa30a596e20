"""How often the reading of a document was begun and did not come to an end: what ends the process
is noticed by it at the next start.

A file for each, a byte for each attempt. They outlive the process, and need not outlive a loss of
power, which is no fault of the document.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from tierocr.edge.disk import Disk, storage_errors

ATTEMPTS = "attempts"
MOST = 1000
"""So many are remembered over a start: what never comes again must not pile up."""


class Attempts:
    """One folder. Methods raise TierocrError like the outbox."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        """`folder`: the outbox's; one is made in it when it is needed."""
        self._folder, self._disk = folder / ATTEMPTS, disk

    def of(self, document: str) -> int:
        """Attempts that did not end."""
        with storage_errors():
            try:
                return len(self._disk.read(self._folder / document))
            except FileNotFoundError:
                return 0

    def begin(self, document: str) -> None:
        """One more."""
        with storage_errors():
            self._disk.make_folder(self._folder, 0o700)
            self._disk.append(self._folder / document, b".")

    def end(self, document: str) -> None:
        """The attempt has ended, whatever came of it."""
        with contextlib.suppress(OSError):
            self._disk.remove(self._folder / document)

    def sweep(self, was_read: Callable[[str], bool], most: int = MOST) -> None:
        """At a start: forget documents that were read in the end, as when the same bytes came
        twice, and those with the fewest attempts beyond so many.
        """
        with storage_errors():
            try:
                names = self._disk.names(self._folder)
            except FileNotFoundError:
                return
        done = [name for name in names if was_read(name)]
        left = sorted(set(names) - set(done), key=lambda name: (-self.of(name), name))
        for name in (*done, *left[most:]):
            self.end(name)
