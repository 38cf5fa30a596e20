"""The loop that has pages read again by the cloud, whenever it can be reached.

Takes one page after the other from the outbox, so that all documents get their turn, and brings
the answers back into it. While the cloud fails, one request at a time finds out whether it is back,
ever more seldom. Must not know about pages' pixels.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tierocr.edge.backoff import delay
from tierocr.edge.breaker import Breaker
from tierocr.edge.logs import event
from tierocr.edge.outbox.choices import CONCERNS_SERVICE
from tierocr.edge.outbox.threaded import ThreadedOutbox, wait_for_event
from tierocr.edge.outbox.values import Work
from tierocr.edge.rereading import read_again
from tierocr.edge.sending import WholePage, changed_lines, page_id, sent_bytes, sent_lines
from tierocr.shared.errors import TierocrError

if TYPE_CHECKING:
    from tierocr.edge.refining import Refiner

_log = logging.getLogger(__name__)
STORE_AGAIN = 2.0
"""Seconds to wait when the outbox cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The first and the longest wait before something is tried again, in seconds."""

    first: float = 2.0
    longest: float = 600.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Before attempt `attempt` + 1 (from 0)."""
        return delay(attempt, retry_after, random.random(), base=self.first, most=self.longest)


class Sender:
    """One cloud. `breaker` is shared with the refiner, which tells it how calls end."""

    def __init__(
        self,
        outbox: ThreadedOutbox,
        refiner: Refiner,
        breaker: Breaker,
        *,
        retries: Retries,
        parallel: int = 2,
        clock: Callable[[], float],
        steady: Callable[[], float] = time.monotonic,
        may_send: Callable[[], Awaitable[float]] | None = None,
    ) -> None:
        """`clock`: the outbox's time; `steady`: the refiner's clock. `may_send`: seconds
        until a page may be sent, 0 for now; see `metering`.
        """
        self._may_send = may_send
        self._outbox, self._refiner, self._breaker = outbox, refiner, breaker
        self._retries, self._parallel = retries, parallel
        self._clock, self._steady = clock, steady
        self._failures = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def reachable(self) -> bool:
        """Whether the cloud answered when it was last asked."""
        return self._failures == 0

    async def run(self) -> None:
        """Send, for ever."""
        changed = self._outbox.listener()
        try:
            while True:
                wait = await self._next()
                if wait is None or wait > 0:
                    await wait_for_event(changed, wait)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _next(self) -> float | None:
        """Begin with a page if one may be sent; returns the seconds to wait for the next, None for
        "until something changes".
        """
        if len(self._tasks) >= (self._parallel if self._breaker.closed else 1):
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            return 0.0
        rest = self._breaker.rests(self._steady())
        if rest > 0:
            return rest
        now = self._clock()
        try:
            rest = await self._may_send() if self._may_send is not None else 0.0
            if rest > 0:
                return rest
            work = await self._outbox.call(lambda box: box.refinements.next_work(now))
            if work is None:
                due = await self._outbox.call(lambda box: box.refinements.next_work_due(now))
                return None if due is None else max(due - now, 0.01)
        except TierocrError as error:
            self._cannot_store(error)
            return STORE_AGAIN
        task = asyncio.create_task(self._send(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return 0.0

    async def _send(self, work: Work) -> None:
        page = work.page
        name = page_id(work.entry.sha256, page.index)
        started = self._steady()
        try:
            answer = await read_again(self._refiner, page, work.sent, name)
        except TierocrError as error:
            await self._failed(work, name, error)
            return
        back, self._failures = self._failures > 0, 0
        event(
            _log,
            "read again",
            document=work.entry.id,
            page=name,
            request=answer.request_id,
            whole=isinstance(work.sent, WholePage),
            lines=sent_lines(page, work.sent),
            changed=changed_lines(answer.page),
            bytes=sent_bytes(work.sent),
            seconds=round(self._steady() - started, 3),
        )
        await self._store(
            work,
            lambda: self._outbox.call(lambda box: box.refinements.answered(work, answer.page)),
        )
        if back:  # pages that were sent in vain need wait no longer
            with contextlib.suppress(TierocrError):
                await self._outbox.call(lambda box: box.refinements.release())
            self._outbox.tell()

    async def _failed(self, work: Work, name: str, error: TierocrError) -> None:
        """Decide what becomes of the page, and how long the cloud is left alone."""
        retry_after = getattr(error, "retry_after", None)
        of_content = not error.retryable and error.code not in CONCERNS_SERVICE
        event(
            _log,
            "not read again",
            level=logging.WARNING if of_content else logging.INFO,
            document=work.entry.id,
            page=name,
            code=error.code,
            error=error.message,
            attempts=work.attempts + 1,
        )
        if of_content:
            self._breaker.succeeded()  # it answered
            await self._store(
                work, lambda: self._outbox.call(lambda box: box.refinements.refused(work, error))
            )
            return
        attempt = self._failures if error.retryable else 30
        self._breaker.rest = self._retries.wait(attempt, retry_after)
        self._failures += 1
        not_before = self._clock() + self._retries.wait(work.attempts, retry_after)
        await self._store(
            work, lambda: self._outbox.call(lambda box: box.refinements.postponed(work, not_before))
        )

    async def _store(self, work: Work, attempt: Callable[[], Awaitable[object]]) -> None:
        """Bring the outcome into the outbox; where that fails the page is sent once more."""
        try:
            await attempt()
        except TierocrError as error:
            self._cannot_store(error)
            await asyncio.sleep(STORE_AGAIN)
            with contextlib.suppress(TierocrError):
                await self._outbox.call(lambda box: box.refinements.postponed(work, None))
        self._outbox.tell()

    def _cannot_store(self, error: TierocrError) -> None:
        event(_log, "the outbox cannot be written", level=logging.WARNING, error=error.message)
