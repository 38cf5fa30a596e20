"""The outbox on a thread of its own, for a loop that must not wait for the disk."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tierocr.edge.outbox.outbox import Outbox

T = TypeVar("T")


class ThreadedOutbox:
    """One call after the other; those who wait for something new are told when there may be."""

    def __init__(self, outbox: Outbox) -> None:
        """The outbox belongs to this from now on."""
        self._outbox = outbox
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="outbox")
        self._listeners: list[asyncio.Event] = []

    async def call(self, what: Callable[[Outbox], T]) -> T:
        """Do something with it. Raises what the outbox raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, what, self._outbox)

    def original(self, document: str) -> bytes:
        """A file that is kept; may be called from any thread."""
        return self._outbox.original(document)

    def listener(self) -> asyncio.Event:
        """An event that is set whenever something changed."""
        event = asyncio.Event()
        self._listeners.append(event)
        return event

    def tell(self) -> None:
        """Something changed."""
        for event in self._listeners:
            event.set()

    def close(self) -> None:
        """Finish what is under way and let go of the folder."""
        self._thread.shutdown()
        self._outbox.close()


async def wait_for_event(event: asyncio.Event, seconds: float | None) -> None:
    """Until the event is set, at most so long; it is cleared."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    event.clear()
