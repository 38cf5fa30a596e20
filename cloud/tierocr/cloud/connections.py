"""How long a connection may be held without a use: one that never finishes its request's head, and
one that never takes its answer.

The first is cut by aiohttp's own timer, which counts from the last answer on, or from the start;
for the second it has none. Bodies have their deadlines where they are read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from aiohttp import web

from tierocr.cloud.settings import CloudSettings

LOOKS = 4
"""How often in the time that an answer may be left unread."""

NO_TIME = 0.01
"""Seconds: aiohttp takes 0 for "without end"."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Unread(Generic[T]):
    """Which of the connections take nothing of what was written to them. Pure, time passed in."""

    def __init__(self, patience: float) -> None:
        """`patience`: seconds that one may take nothing."""
        self._patience = patience
        self._waiting: dict[T, tuple[int, float]] = {}

    def look(self, waiting: Mapping[T, int], now: float) -> list[T]:
        """Those that have been at it for too long. `waiting`: the bytes that each has not taken,
        at `now`.
        """
        before, self._waiting = self._waiting, {}
        for connection, count in waiting.items():
            if count:
                old, since = before.get(connection, (count + 1, now))
                self._waiting[connection] = count, now if count < old else since
        return [c for c, (_, since) in self._waiting.items() if now - since >= self._patience]

    def __len__(self) -> int:
        """How many are remembered: those that have not taken everything."""
        return len(self._waiting)


@asynccontextmanager
async def set_up(app: web.Application, settings: CloudSettings) -> AsyncIterator[web.AppRunner]:
    """The application, started and ready to be given a place to listen; ended in order after it."""
    runner = web.AppRunner(
        app,
        handler_cancellation=True,  # a client that hangs up frees its place in the queue
        access_log=None,
        shutdown_timeout=max(settings.stop.grace_seconds, NO_TIME),
        keepalive_timeout=settings.listen.idle_seconds,
    )
    await runner.setup()
    cutting = asyncio.create_task(
        _cut_unread(runner, settings.listen.unread_seconds), name="tierocr-unread"
    )
    try:
        yield runner
    finally:
        await runner.cleanup()
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)


async def _cut_unread(runner: web.AppRunner, patience: float) -> None:
    unread, loop = Unread[asyncio.Transport](patience), asyncio.get_running_loop()
    while True:
        await asyncio.sleep(patience / LOOKS)
        server = runner.server
        transports = [c.transport for c in server.connections] if server is not None else []
        waiting = {t: t.get_write_buffer_size() for t in transports if t is not None}
        for transport in unread.look(waiting, loop.time()):
            _log.warning("a connection was cut: its answer is not read")
            transport.abort()
