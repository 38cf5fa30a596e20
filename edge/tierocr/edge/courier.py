"""The loop that brings versions of documents to one sink, until each has arrived.

While the sink fails it is left alone, ever longer; a version that it will never take is given up,
and said so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from tierocr.edge.logs import event
from tierocr.edge.outbox.threaded import ThreadedOutbox, wait_for_event
from tierocr.edge.outbox.values import Due
from tierocr.edge.sender import STORE_AGAIN, Retries
from tierocr.edge.sinks import Sink, Undelivered
from tierocr.shared.errors import TierocrError

_log = logging.getLogger(__name__)


class Courier:
    """One sink."""

    def __init__(
        self,
        outbox: ThreadedOutbox,
        sink: Sink,
        *,
        retries: Retries,
        clock: Callable[[], float],
    ) -> None:
        """`clock`: the outbox's time."""
        self._outbox, self._sink = outbox, sink
        self._retries, self._clock = retries, clock
        self._failures = 0
        self.idle = asyncio.Event()
        """Set while nothing can be delivered now."""

    async def run(self) -> None:
        """Deliver, for ever."""
        changed = self._outbox.listener()
        await self._sink.open()
        try:
            while True:
                wait = await self._next()
                if wait is None or wait > 0:
                    self.idle.set()
                    await wait_for_event(changed, wait)
                    self.idle.clear()
        finally:
            await self._sink.close()

    async def _next(self) -> float | None:
        """Deliver what is due; returns the seconds to wait, None for "until something changes"."""
        now, name = self._clock(), self._sink.name
        try:
            due = await self._outbox.call(lambda box: box.outgoing.next(name, now))
            if due is None:
                at = await self._outbox.call(lambda box: box.outgoing.next_at(name))
                return None if at is None else max(at - now, 0.01)
            return await self._deliver(due)
        except TierocrError as error:
            event(_log, "the outbox cannot be used", level=logging.WARNING, error=error.message)
            return STORE_AGAIN

    async def _deliver(self, due: Due) -> float:
        key = due.entry.id
        fields: dict[str, Any] = {
            "document": key,
            "version": due.delivery.version,
            "sink": self._sink.name,
            "status": due.document.status,
        }
        try:
            await self._sink.deliver(due, lambda: self._outbox.original(key))
        except Undelivered as failure:
            return await self._failed(due, failure, fields)
        if self._failures:  # it is back: what waits need wait no longer
            await self._outbox.call(lambda box: box.outgoing.release(self._sink.name))
        self._failures = 0
        finished = await self._outbox.call(lambda box: box.outgoing.delivered(due, self._clock()))
        event(_log, "delivered", finished=finished, **fields)
        self._outbox.tell()
        return 0.0

    async def _failed(self, due: Due, failure: Undelivered, fields: dict[str, Any]) -> float:
        if failure.hopeless:
            event(
                _log, "will never be delivered", level=logging.ERROR, error=str(failure), **fields
            )
            await self._outbox.call(
                lambda box: box.outgoing.undeliverable(due, str(failure), self._clock())
            )
            self._outbox.tell()
            return 0.0
        level = logging.WARNING if self._failures == 0 else logging.INFO
        event(_log, "not delivered", level=level, error=str(failure), **fields)
        rest = self._retries.wait(self._failures, failure.retry_after)
        own = self._clock() + self._retries.wait(due.delivery.attempts, failure.retry_after)
        self._failures += 1
        await self._outbox.call(lambda box: box.outgoing.redeliver(due, str(failure), own))
        return rest
