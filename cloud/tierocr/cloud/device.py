"""The one thread that may touch the model.

Engines are not safe for two callers, and one accelerator has one owner: crops and whole pages take
turns here, in the order in which they were submitted. Must not know what the work is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

R = TypeVar("R")


class Device:
    """Runs work one piece at a time, always in the same thread."""

    def __init__(self) -> None:
        """The thread starts with the first piece of work."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tierocr-device")

    def submit(self, work: Callable[[], R]) -> Future[R]:
        """Queue a piece of work. Raises RuntimeError after `close`."""
        return self._thread.submit(work)

    def close(self) -> None:
        """Drop what has not started; what runs goes on to its end, a thread cannot be stopped."""
        self._thread.shutdown(wait=False, cancel_futures=True)
