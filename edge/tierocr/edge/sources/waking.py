"""When to look into a folder again: at the latest after a while, at once where the system tells.

What the system tells is only a reason to look; what is done is decided by what is found.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path
from typing import Literal

from tierocr.edge.sources.mounts import file_system, is_network

_log = logging.getLogger(__name__)

Watch = Literal["auto", "notify", "poll"]
_MOUNTS = Path("/proc/self/mounts")
AT_LEAST_EVERY = 20.0
"""Seconds between two looks where changes are told: an event may be lost."""

_AT_FIRST = 0.25
"""Seconds until the second look: what came before the system began to tell was not told."""

_STEP = 5
"""Milliseconds for which changes are gathered: a file's stillness counts from when it is told."""


def needs_polling(folder: Path, watch: Watch) -> bool:
    """Whether changes there must be looked for. `auto`: on network file systems, and wherever one
    cannot tell.
    """
    if watch != "auto":
        return watch == "poll"
    try:
        mounts = os.fsdecode(_MOUNTS.read_bytes())
    except OSError:
        return os.name == "posix"
    return is_network(file_system(mounts, os.path.realpath(folder)))


class Waker:
    """Use as an async context manager around the loop of one folder."""

    def __init__(self, folder: Path, *, polling: bool, every: float, recursive: bool) -> None:
        """`every`: seconds between two looks while polling."""
        self._folder, self._recursive = folder, recursive
        self._polling, self._every = polling, every
        self._told, self._stop = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._longest = _AT_FIRST

    async def __aenter__(self) -> Waker:
        """Begin to listen."""
        if not self._polling:
            self._task = asyncio.create_task(self._listen(), name="tierocr-notify")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        """Look again now."""
        self._told.set()

    async def wait(self, seconds: float | None) -> None:
        """Until something changed, at most so long (None: until the next regular look)."""
        longest = self._every if self._polling else self._longest
        self._longest = min(2 * self._longest, AT_LEAST_EVERY)
        timeout = longest if seconds is None else min(max(seconds, 0.0), longest)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._told.wait(), timeout)
        self._told.clear()

    async def _listen(self) -> None:
        """Set the event at every change; where that fails, go on by looking."""
        try:
            from watchfiles import awatch

            changes = awatch(
                self._folder,
                watch_filter=None,
                debounce=20,
                step=_STEP,
                stop_event=self._stop,
                rust_timeout=1000,
                recursive=self._recursive,
            )
            async for _ in changes:
                self._told.set()
        except (OSError, RuntimeError, ImportError) as error:
            _log.warning(
                "changes of a folder are not told, it is looked at instead",
                extra={"fields": {"folder": str(self._folder), "error": str(error)}},
            )
        self._polling = True
        self._told.set()
