"""From the bytes of a file to a document that is safe in the outbox.

Joins reader and outbox; waits while there is no room. Must not know where files come from or where
documents go.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Iterable
from typing import TypeVar

from tierocr.edge.backoff import delay
from tierocr.edge.logs import event
from tierocr.edge.outbox.outbox import Outbox
from tierocr.edge.outbox.states import RECEIVED
from tierocr.edge.outbox.threaded import ThreadedOutbox, wait_for_event
from tierocr.edge.outbox.values import Arrival, Kept, document_id
from tierocr.edge.planning import PlannedDocument
from tierocr.edge.sources.judging import Objection, objection
from tierocr.edge.tiering import TieredReader
from tierocr.edge.turns import Turns
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError

_log = logging.getLogger(__name__)
_OF_THE_DISK = frozenset(("over_capacity", "output_failed"))
T = TypeVar("T")
TRIES, TRY_AGAIN = 3, 1.0
"""How often bytes without a file of their own are read before they count as unreadable, and the
seconds between; how often the process may end while a file is read.
"""

LOOK_AGAIN = 5.0
"""Seconds after which it is tried again although nobody said that there is room."""


class ReadingIntake:
    """Reads files with one reader and keeps the documents in one outbox."""

    def __init__(
        self,
        reader: TieredReader,
        outbox: ThreadedOutbox,
        *,
        clock: Callable[[], float],
    ) -> None:
        """`clock`: the outbox's time."""
        self._reader, self._outbox, self._clock = reader, outbox, clock
        self._turns = Turns()
        self.blocked: str | None = None
        """Why nothing comes in, while that is so."""

    async def take(self, arrival: Arrival, data: bytes, *, last: bool) -> Objection | None:
        """Read a file and keep its text; None once that is safe. Waits while there is no room."""
        key, _ = await asyncio.to_thread(document_id, data)
        known = await self._patiently(lambda box: box.incoming.find(key))
        if known is not None and known.state != RECEIVED:
            await self.see(arrival)
            event(
                _log,
                "the same document was here before",
                document=key,
                file=arrival.name,
                source=arrival.source,
                name=known.name,
            )
            return None
        deadly = await self._deadly(key)
        if deadly is not None:
            return Objection(failure=deadly, hopeless=True)
        planned = await self._read_once(key, data, arrival)
        if isinstance(planned, Failure):
            return Objection(failure=planned, hopeless=last)
        refused = objection(planned.document, last=last)
        if refused is None:
            await self._keep(arrival, data, planned)
        return refused

    async def receive(self, arrival: Arrival, data: bytes) -> Kept:
        """Take over bytes that have no file of their own; they are read by `read_received`."""
        kept = await self._with_room(lambda box: box.incoming.receive(arrival, data, self._clock()))
        event(_log, "received", document=kept.entry.id, source=arrival.source)
        self._outbox.tell()
        return kept

    async def read_received(self) -> None:
        """Read what was received, for ever."""
        changed = self._outbox.listener()
        tried: dict[str, int] = {}
        while True:
            found = await self._patiently(lambda box: box.incoming.next_received())
            if found is None:
                await wait_for_event(changed, None)
                continue
            entry, data = found
            arrival = Arrival(source=entry.source, name=entry.name)
            deadly = await self._deadly(entry.id)
            planned = deadly or await self._read_once(entry.id, data, arrival)
            if deadly is None and isinstance(planned, Failure):
                tried[entry.id] = tried.get(entry.id, 0) + 1
                if tried[entry.id] < TRIES:
                    await asyncio.sleep(TRY_AGAIN)
                    continue
            if isinstance(planned, Failure):
                planned = self._reader.unread(data, entry.name, planned)
            tried.pop(entry.id, None)
            await self._keep(arrival, data, planned)

    async def seen(self, source: str) -> dict[str, tuple[int, int]]:
        """Files that were taken: size and time of change then."""
        return await self._patiently(lambda box: box.incoming.seen(source))

    async def see(self, arrival: Arrival) -> None:
        """A file is done with, although nothing new came of it."""
        await self._patiently(lambda box: box.incoming.see(arrival))

    async def unsee(self, source: str, paths: Iterable[str]) -> None:
        """These are no longer there."""
        gone = list(paths)
        await self._patiently(lambda box: box.incoming.unsee(source, gone))

    async def _deadly(self, key: str) -> Failure | None:
        """Why a document is not read any more: each time, the process has not outlived it."""
        attempts = await self._patiently(lambda box: box.attempts.of(key))
        if attempts < TRIES:
            return None
        # if it comes again, perhaps to a better reader, it is read again
        await self._outbox.call(lambda box: box.attempts.end(key))
        message = f"the process ended {attempts} times while it was being read"
        return Failure(code="internal", message=message)

    async def _read_once(
        self, key: str, data: bytes, arrival: Arrival
    ) -> PlannedDocument | Failure:
        """Like `_read`, and noted should the process not outlive it; one of which that is known
        is read alone, so that nobody else is suspected.
        """
        suspect = await self._patiently(lambda box: box.attempts.of(key))
        async with self._turns.alone() if suspect else self._turns.together():
            await self._patiently(lambda box: box.attempts.begin(key))
            try:
                return await self._read(data, arrival)
            finally:
                await self._outbox.call(lambda box: box.attempts.end(key))

    async def _read(self, data: bytes, arrival: Arrival) -> PlannedDocument | Failure:
        """A failure is the engine's. Whatever it is, it must not end the agent: the next file may
        well be read.
        """
        name = arrival.name
        try:
            return await self._reader.read_here(data, name, arrival.source)
        except TierocrError as error:
            event(_log, "the engine failed", level=logging.ERROR, file=name, error=str(error))
            return Failure(code=error.code, message=error.message)
        except Exception as error:
            _log.exception("reading failed in an unexpected way", extra={"fields": {"file": name}})
            return Failure(code="internal", message=f"{type(error).__name__}: {error}")

    async def _keep(self, arrival: Arrival, data: bytes, planned: PlannedDocument) -> None:
        def keep(box: Outbox) -> Kept | None:
            # the tally as it is then: documents are not kept in the order of their plans
            return box.incoming.keep(
                arrival, data, planned, self._clock(), tally=self._reader.tally
            )

        kept = await self._with_room(keep)
        entry = kept.entry
        event(
            _log,
            "read",
            document=entry.id,
            file=arrival.name,
            source=arrival.source,
            state=entry.state,
            pages=len(planned.pages),
            to_send=entry.waiting,
            duplicate=kept.duplicate,
        )
        for dropped in kept.dropped:
            event(_log, "no room: goes out as it is", level=logging.WARNING, document=dropped.id)
        self._outbox.tell()

    async def _with_room(self, work: Callable[[Outbox], Kept | None]) -> Kept:
        """Until there is room."""
        freed: asyncio.Event | None = None
        while True:
            kept = await self._patiently(work)
            if kept is not None:
                self._unblock()
                return kept
            self._block("the outbox is full")
            freed = freed or self._outbox.listener()
            await wait_for_event(freed, LOOK_AGAIN)

    async def _patiently(self, work: Callable[[Outbox], T]) -> T:
        """What the outbox answers, as soon as the disk allows it: a full or failing disk delays and
        loses nothing.
        """
        for n in itertools.count():
            try:
                result = await self._outbox.call(work)
            except TierocrError as error:
                if error.code not in _OF_THE_DISK:
                    raise
                self._block(error.message)
                await asyncio.sleep(delay(n, 0.1, random.random(), base=0.5))
                continue
            if n:
                self._unblock()
            return result
        raise AssertionError

    def _block(self, why: str) -> None:
        if self.blocked != why:
            event(_log, "nothing comes in for now", level=logging.WARNING, reason=why)
        self.blocked = why

    def _unblock(self) -> None:
        if self.blocked is not None:
            event(_log, "documents come in again")
        self.blocked = None
