"""The outbox: what must not be lost between two moments, on the disk.

What a method has done is durable when it returns; what it could not do has left no trace. Joins
the rows, the files beside them and the decisions. Synchronous, one thread at a time; time (seconds
since the epoch) is passed in. Must not know who reads, sends or delivers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tierocr.edge.disk import Disk
from tierocr.edge.outbox import states
from tierocr.edge.outbox.attempts import Attempts
from tierocr.edge.outbox.blobs import Blobs
from tierocr.edge.outbox.choices import (
    Admission,
    admit,
    next_due,
    next_page,
    to_free,
)
from tierocr.edge.outbox.crops_file import unpack_sendings
from tierocr.edge.outbox.database import Database
from tierocr.edge.outbox.deliveries import DONE, GIVEN_UP, PENDING, Deliveries
from tierocr.edge.outbox.documents import Documents
from tierocr.edge.outbox.naming import output_name
from tierocr.edge.outbox.notes import Notes
from tierocr.edge.outbox.rendering import document_of, page_of, tree_of
from tierocr.edge.outbox.seen import SeenFiles
from tierocr.edge.outbox.states import RECEIVED, UNREFINED, Entry
from tierocr.edge.outbox.stored import Stored
from tierocr.edge.outbox.values import Arrival, Due, Kept, Rules, Status, Work, document_id
from tierocr.edge.tiering import PlannedDocument
from tierocr.shared.document import FAILED, Page
from tierocr.shared.errors import TierocrError


class Outbox:
    """Opened by the constructor. Methods raise TierocrError `over_capacity` when the disk is full,
    `output_failed` when it fails otherwise.
    """

    def __init__(
        self,
        folder: Path,
        rules: Rules,
        sinks: Sequence[str],
        *,
        occupied: Callable[[str], bool] = lambda name: False,
        disk: Disk | None = None,
        now: float,
    ) -> None:
        """Open, or make, what is in the folder, and mend what a kill has left. `sinks`: where
        every version is to go. `occupied`: whether a name is in use in one of them by somebody
        else. Raises TierocrError `config_invalid` when the folder cannot be used, or is in use.
        """
        self._rules, self._sinks, self._occupied = rules, tuple(sinks), occupied
        self._under_way: set[int] = set()
        self._blobs = Blobs(folder, disk or Disk())
        self._attempts = Attempts(folder, disk or Disk())
        self._database = Database(folder)
        self._documents = Documents(self._database)
        self._deliveries = Deliveries(self._database)
        self._seen = SeenFiles(self._database)
        self._notes = Notes(self._database)
        try:
            self._recover(now)
        except TierocrError as error:
            if error.code != "over_capacity":  # on a full disk the next start tidies up
                self._database.close()
                raise
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        self._database.close()

    # -- coming in -----------------------------------------------------------------------------

    def find(self, document: str) -> Entry | None:
        """A document by its id, also one that is finished."""
        return self._documents.find(document)

    def receive(self, arrival: Arrival, data: bytes, now: float) -> Kept | None:
        """Take over the bytes of a document that has no file of its own; it is read later. None
        when there is no room.
        """
        key, sha256 = document_id(data)
        if (known := self._documents.find(key)) is not None:
            return Kept(entry=known, duplicate=True)
        self._blobs.check_space(len(data), self._rules.free_bytes)
        verdict = self._admission(content=len(data), crops=0, gain=0.0)
        if not verdict.admitted:
            return None
        dropped = self._make_room(verdict.drop)
        with self._blobs.written(key, {}, data), self._database.transaction():
            entry = self._documents.add(
                self._new(arrival, key, sha256, now), original_bytes=len(data)
            )
        return Kept(entry=entry, dropped=dropped)

    def next_received(self) -> tuple[Entry, bytes] | None:
        """The oldest document that was received and not read, with its bytes."""
        for entry in self._documents.received():
            return entry, self.original(entry.id)
        return None

    def original(self, document: str) -> bytes:
        """The bytes that a document was read from, while they are kept; may be called from any
        thread. Raises TierocrError `not_found`.
        """
        return self._blobs.original(document)

    def keep(
        self, arrival: Arrival, data: bytes, planned: PlannedDocument, now: float
    ) -> Kept | None:
        """A document as the edge has read it: from now on it is safe, on its way to every sink
        and, as far as planned, to the cloud. None when there is no room: try again later.
        """
        key, sha256 = document_id(data)
        known = self._documents.find(key)
        if known is not None and known.state != RECEIVED:
            self.see(arrival)
            return Kept(entry=known, duplicate=True)
        stored = Stored.of(planned)
        spooled = known is not None
        original = len(data) if self._rules.keep_originals and not spooled else 0
        size = stored.content_bytes + stored.crop_bytes + original
        self._blobs.check_space(size, self._rules.free_bytes)
        verdict = self._admission(
            content=stored.content_bytes + original,
            crops=stored.crop_bytes,
            gain=stored.gain,
            inside=spooled,
        )
        if not verdict.admitted:
            return None
        if not verdict.refine:
            stored = stored.without_crops()
        kept = data if original else None
        dropped = self._make_room(verdict.drop)
        with self._blobs.written(key, stored.crops, kept), self._database.transaction():
            entry = known or self._documents.add(
                self._new(arrival, key, sha256, now), original_bytes=original
            )
            entry = self._read(entry, planned, stored)
            if arrival.seen is not None:
                self._seen.add(arrival.seen)
        if spooled and not self._rules.keep_originals:
            self._blobs.forget_original(entry.id)
        return Kept(entry=entry, dropped=dropped)

    def _read(self, entry: Entry, planned: PlannedDocument, stored: Stored) -> Entry:
        entry = states.read(
            entry,
            waiting=len(stored.crops),
            failed=planned.document.status == FAILED,
            reason=states.NO_ROOM if stored.dropped else None,
        )
        self._documents.update(entry)
        self._documents.set_content(entry.number, stored.head, stored.pages)
        if not self._rules.keep_originals:
            self._documents.set_original(entry.number, 0)
        self._deliveries.add(entry, self._sinks)
        return entry

    # -- readings that end the process ---------------------------------------------------------

    def attempts(self, document: str) -> int:
        """How often it was begun to read a document without an end: the process ended before."""
        return self._attempts.of(document)

    def begin_reading(self, document: str) -> None:
        """From here on an end of the process counts, until `end_reading`."""
        self._attempts.begin(document)

    def end_reading(self, document: str) -> None:
        """It has ended, well or not."""
        self._attempts.end(document)

    # -- to the cloud and back -----------------------------------------------------------------

    def next_work(self, now: float) -> Work | None:
        """The page to send now; it is under way until it is answered or postponed."""
        while True:
            waiting = [w for w in self._documents.waiting() if w.number not in self._under_way]
            chosen = next_page(waiting, now)
            if chosen is None:
                return None
            entry = self._documents.entry(number=chosen.number)
            page = page_of(self._documents.page(chosen.number, chosen.page))
            try:
                sent = unpack_sendings(self._blobs.crops(entry.id, chosen.page))
            except TierocrError as error:
                if error.code != "internal":
                    raise
                self._close_page(entry, chosen.page, None, str(error), now)
                continue
            if entry.state != states.SENT:
                entry = states.sent(entry)
                with self._database.transaction():
                    self._documents.update(entry)
            attempts = self._documents.attempts(chosen.number, chosen.page)
            self._under_way.add(chosen.number)
            return Work(entry=entry, page=page, sent=sent, attempts=attempts)

    def next_work_due(self, now: float) -> float | None:
        """When a page may be sent that may not yet."""
        waiting = [w for w in self._documents.waiting() if w.number not in self._under_way]
        return next_due(waiting, now)

    def answered(self, work: Work, page: Page, now: float) -> Entry:
        """The page as it is with the cloud's answers."""
        entry = self._close_page(work.entry, page.index, page, None, now)
        self._under_way.discard(work.entry.number)
        return entry

    def refused(self, work: Work, error: TierocrError, now: float) -> Entry:
        """The cloud will never read this page: it stays as it is."""
        entry = self._close_page(work.entry, work.page.index, None, str(error), now)
        self._under_way.discard(work.entry.number)
        return entry

    def postponed(self, work: Work, not_before: float | None) -> None:
        """The page was not answered. `not_before`: when it may be sent again, None where it was
        not the page's fault and it may at once.
        """
        self._under_way.discard(work.entry.number)
        entry = self._documents.entry(number=work.entry.number)
        if entry.state not in UNREFINED:
            return
        with self._database.transaction():
            self._documents.update(states.postponed(entry))
            if not_before is not None:
                self._documents.page_postponed(entry.number, work.page.index, not_before)

    def release_pages(self) -> None:
        """The cloud is back: pages that were sent in vain may be sent now."""
        with self._database.transaction():
            self._documents.release()

    def expire(self, now: float) -> list[Entry]:
        """Documents whose time is over go out as they are."""
        late = [e for e in self._documents.unrefined() if e.deadline <= now]
        return self._give_up(late, states.NO_ANSWER)

    def give_up_all(self, reason: str) -> list[Entry]:
        """Nothing is sent any more: all that waits goes out as it is."""
        return self._give_up(self._documents.unrefined(), reason)

    def _give_up(self, entries: Sequence[Entry], reason: str) -> list[Entry]:
        if not entries:
            return []
        with self._database.transaction():
            ended = self._drop([e.number for e in entries], reason)
        self._blobs.forget_crops(e.id for e in ended)
        return list(ended)

    def _close_page(
        self, entry: Entry, n: int, page: Page | None, refused: str | None, now: float
    ) -> Entry:
        entry = self._documents.entry(number=entry.number)
        if entry.state not in UNREFINED:  # it was given up in the meantime
            return entry
        with self._database.transaction():
            self._documents.page_done(entry.number, n, tree_of(page) if page else None)
            entry = states.answered(entry, refused=refused)
            self._documents.update(entry)
            if entry.final:
                self._deliveries.add(entry, self._sinks)
        self._blobs.forget_page(entry.id, n)
        return entry

    # -- to the sinks --------------------------------------------------------------------------

    def next_due(self, sink: str, now: float) -> Due | None:
        """The version to deliver now."""
        delivery = self._deliveries.next(sink, now)
        if delivery is None:
            return None
        entry = self._documents.entry(number=delivery.document)
        document = document_of(entry, *self._documents.content(entry.number))
        return Due(delivery=delivery, entry=entry, document=document)

    def next_due_at(self, sink: str) -> float | None:
        """When there is something to deliver; it may be in the past."""
        return self._deliveries.next_due(sink)

    def delivered(self, due: Due, now: float) -> bool:
        """It has arrived; True when that was the last that happens to the document."""
        return self._ended(due, DONE, None, now)

    def undeliverable(self, due: Due, error: str, now: float) -> bool:
        """It will never arrive there."""
        return self._ended(due, GIVEN_UP, error, now)

    def redeliver(self, due: Due, error: str, not_before: float) -> None:
        """It has not arrived; it is tried again, but not before then."""
        with self._database.transaction():
            self._deliveries.ended(due.delivery, PENDING, not_before=not_before, error=error)

    def release_deliveries(self, sink: str) -> None:
        """A sink is back: what it did not take may be delivered now."""
        with self._database.transaction():
            self._deliveries.release(sink)

    def _ended(self, due: Due, state: str, error: str | None, now: float) -> bool:
        number = due.entry.number
        with self._database.transaction():
            self._deliveries.ended(due.delivery, state, error=error)
            last = due.delivery.final and not self._deliveries.undelivered(number)
            if last:
                self._documents.finish(number, now)
        if last and self._rules.keep_originals:
            self._blobs.forget_original(due.entry.id)
        return last

    # -- files seen in folders -----------------------------------------------------------------

    def see(self, arrival: Arrival) -> None:
        """A file is done with, although nothing new came of it."""
        if arrival.seen is not None:
            with self._database.transaction():
                self._seen.add(arrival.seen)

    def seen(self, source: str) -> dict[str, tuple[int, int]]:
        """Files of a source that were taken: size and time of change (nanoseconds), by path."""
        return self._seen.of(source)

    def unsee(self, source: str, paths: Iterable[str]) -> None:
        """These are no longer there."""
        with self._database.transaction():
            self._seen.remove(source, paths)

    # -- keeping house -------------------------------------------------------------------------

    def status(self, now: float) -> Status:
        """How full it is."""
        oldest = self._documents.oldest()
        return Status(
            load=self._documents.load(),
            oldest=max(0.0, now - oldest) if oldest is not None else 0.0,
            waiting_documents=len(self._documents.unrefined()),
            pending=self._deliveries.pending(),
        )

    def note(self, name: str) -> str | None:
        """A small text that was kept."""
        return self._notes.get(name)

    def put_note(self, name: str, value: str) -> None:
        """Keep a small text."""
        self._notes.put(name, value)

    def forget(self, now: float) -> None:
        """Old finished documents are no longer remembered."""
        before = now - self._rules.history_seconds
        with self._database.transaction():
            self._documents.forget(before=before, keep=self._rules.history)

    def _recover(self, now: float) -> None:
        with self._database.transaction():
            self._deliveries.keep_sinks(self._sinks)
            for number in self._deliveries.all_done():
                self._documents.finish(number, now)
            load, bounds = self._documents.load(), self._rules.bounds
            excess = load.bytes - bounds.max_bytes
            self._drop(to_free(self._documents.held(), excess, bounds.when_full), states.NO_ROOM)
        self._blobs.sweep(self._documents.all_waiting(), self._documents.unfinished_ids())

    def _new(self, arrival: Arrival, key: str, sha256: str, now: float) -> Entry:
        def taken(name: str) -> bool:
            return self._documents.taken(name) or self._occupied(name)

        return Entry(
            number=0,
            id=key,
            sha256=sha256,
            name=arrival.name,
            output=output_name(arrival.name, taken),
            source=arrival.source,
            received=now,
            deadline=now + self._rules.expire_seconds,
        )

    def _admission(
        self, *, content: int, crops: int, gain: float, inside: bool = False
    ) -> Admission:
        """`inside`: the document is counted already."""
        load = self._documents.load()
        if inside:
            load = replace(load, documents=load.documents - 1)
        held = self._documents.held()
        return admit(self._rules.bounds, load, held, content=content, crops=crops, gain=gain)

    def _make_room(self, numbers: Iterable[int]) -> tuple[Entry, ...]:
        """Give up the refinement of these before anything is written, so that the bound holds on
        the disk at every moment.
        """
        return tuple(
            self._give_up([self._documents.entry(number=n) for n in numbers], states.NO_ROOM)
        )

    def _drop(self, numbers: Iterable[int], reason: str) -> tuple[Entry, ...]:
        """Give up the refinement of these, inside a transaction; their crops go afterwards."""
        dropped = []
        for number in numbers:
            entry = states.given_up(self._documents.entry(number=number), reason)
            for n in self._documents.waiting_pages(number):
                self._documents.page_done(number, n)
            self._documents.update(entry)
            self._deliveries.add(entry, self._sinks)
            dropped.append(entry)
        return tuple(dropped)
