"""Loops side by side, and waiting for the first of several things. Must not know what they do."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any


class Loops:
    """Loops that never end by themselves, side by side."""

    def __init__(self, loops: list[Coroutine[Any, Any, None]]) -> None:
        """They begin when the block does."""
        self._loops = loops
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Loops:
        """Begin."""
        self._tasks = [asyncio.create_task(loop) for loop in self._loops]
        return self

    async def __aexit__(self, *_: object) -> None:
        """End."""
        await self.end()

    async def failed(self) -> None:
        """Until one fails; raises what it raised."""
        if not self._tasks:
            await asyncio.Event().wait()
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def end(self) -> None:
        """Cancel all of them, and wait until they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def in_daemon_thread(work: Callable[[], bytes]) -> bytes:
    """The result of something that may never end, and must not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def tell(result: bytes | Exception) -> None:
        if done.done():
            return
        if isinstance(result, Exception):
            done.set_exception(result)
        else:
            done.set_result(result)

    def run() -> None:
        result: bytes | Exception
        try:
            result = work()
        except Exception as error:
            result = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=run, daemon=True, name="standard input").start()
    return await done


async def first(*waits: Awaitable[object]) -> None:
    """Until one is over; raises what it raised."""
    tasks = [asyncio.ensure_future(w) for w in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
