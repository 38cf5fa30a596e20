"""The threads that may touch networks, each with a number.

An accelerator's context has one owner: whoever has one network, or one set of streams, for each
number here gives each of them one thread of its own. Work is taken by the first that is free, in
the order in which it was submitted. Must not know what the work is.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

R = TypeVar("R")


class Device:
    """Runs as many pieces of work at once as it has workers."""

    def __init__(self, workers: int = 1, name: str = "device") -> None:
        """The threads start with the first pieces of work."""
        self.workers = workers
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(
            max_workers=workers,
            thread_name_prefix=f"tierocr-{name}",
            initializer=self._number_thread,
            initargs=(itertools.count(),),
        )

    def submit(self, work: Callable[[int], R]) -> Future[R]:
        """Queue a piece of work, which is told its worker's number (from 0). Raises RuntimeError
        after `close`.
        """
        return self._threads.submit(lambda: work(self._own.number))

    def close(self) -> None:
        """Drop what has not started; what runs goes on to its end, a thread cannot be stopped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _number_thread(self, numbers: itertools.count[int]) -> None:
        self._own.number = next(numbers)
