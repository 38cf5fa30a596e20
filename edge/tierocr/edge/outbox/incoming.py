"""Documents on their way into the outbox: from the bytes of a file to a document that is safe.

Joins the rows, the files beside them and the decision who may come in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tierocr.edge.outbox import states
from tierocr.edge.outbox.choices import Admission, admit
from tierocr.edge.outbox.naming import output_name
from tierocr.edge.outbox.refinements import Refinements
from tierocr.edge.outbox.states import RECEIVED, Entry
from tierocr.edge.outbox.store import Store
from tierocr.edge.outbox.stored import Stored
from tierocr.edge.outbox.values import Arrival, Kept, Rules, document_id
from tierocr.edge.planning import PlannedDocument
from tierocr.shared.document import FAILED

TALLY = "tally"
"""The note that says what was spent of the budgets of lines and bytes."""


class Incoming:
    """Methods raise TierocrError like the outbox."""

    def __init__(
        self,
        store: Store,
        refinements: Refinements,
        rules: Rules,
        sinks: Sequence[str],
        occupied: Callable[[str], bool],
    ) -> None:
        """See `Outbox`. `refinements`: where room is made when there is none."""
        self._store, self._refinements, self._rules = store, refinements, rules
        self._sinks, self._occupied = sinks, occupied

    def find(self, document: str) -> Entry | None:
        """A document by its id, also one that is finished."""
        return self._store.documents.find(document)

    def receive(self, arrival: Arrival, data: bytes, now: float) -> Kept | None:
        """Take over the bytes of a document that has no file of its own; it is read later. None
        when there is no room.
        """
        store = self._store
        key, sha256 = document_id(data)
        if (known := store.documents.find(key)) is not None:
            return Kept(entry=known, duplicate=True)
        store.blobs.check_space(len(data), self._rules.free_bytes)
        verdict = self._admission(content=len(data), crops=0, gain=0.0)
        if not verdict.admitted:
            return None
        dropped = self._refinements.make_room(verdict.drop)
        with store.blobs.written(key, {}, data), store.transaction():
            entry = store.documents.add(
                self._new(arrival, key, sha256, now), original_bytes=len(data)
            )
        return Kept(entry=entry, dropped=dropped)

    def next_received(self) -> tuple[Entry, bytes] | None:
        """The oldest document that was received and not read, with its bytes."""
        for entry in self._store.documents.received():
            return entry, self._store.blobs.original(entry.id)
        return None

    def keep(
        self,
        arrival: Arrival,
        data: bytes,
        planned: PlannedDocument,
        now: float,
        tally: str | None = None,
    ) -> Kept | None:
        """A document as the edge has read it: from now on it is safe, on its way to every sink
        and, as far as planned, to the cloud. None when there is no room: try again later.
        `tally`: what all plans so far have spent, see `tally`.
        """
        store = self._store
        key, sha256 = document_id(data)
        known = store.documents.find(key)
        if known is not None and known.state != RECEIVED:
            self.see(arrival)
            return Kept(entry=known, duplicate=True)
        stored = Stored.of(planned)
        spooled = known is not None
        original = len(data) if self._rules.keep_originals and not spooled else 0
        size = stored.content_bytes + stored.crop_bytes + original
        store.blobs.check_space(size, self._rules.free_bytes)
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
        dropped = self._refinements.make_room(verdict.drop)
        with store.blobs.written(key, stored.crops, kept), store.transaction():
            entry = known or store.documents.add(
                self._new(arrival, key, sha256, now), original_bytes=original
            )
            entry = self._read(entry, planned, stored)
            if tally is not None:
                store.notes.put(TALLY, tally)
            if arrival.seen is not None:
                store.seen.add(arrival.seen)
        if spooled and not self._rules.keep_originals:
            store.blobs.forget_original(entry.id)
        own = (entry,) if stored.dropped else ()
        return Kept(entry=entry, dropped=(*dropped, *own))

    def see(self, arrival: Arrival) -> None:
        """A file is done with, although nothing new came of it."""
        if arrival.seen is not None:
            with self._store.transaction():
                self._store.seen.add(arrival.seen)

    def seen(self, source: str) -> dict[str, tuple[int, int]]:
        """Files of a source that were taken: size and time of change (nanoseconds), by path."""
        return self._store.seen.of(source)

    def unsee(self, source: str, paths: Iterable[str]) -> None:
        """These are no longer there."""
        with self._store.transaction():
            self._store.seen.remove(source, paths)

    def _read(self, entry: Entry, planned: PlannedDocument, stored: Stored) -> Entry:
        entry = states.read(
            entry,
            waiting=len(stored.crops),
            failed=planned.document.status == FAILED,
            reason=states.NO_ROOM if stored.dropped else None,
        )
        documents = self._store.documents
        documents.update(entry)
        documents.set_content(entry.number, stored.head, stored.pages)
        if not self._rules.keep_originals:
            documents.set_original(entry.number, 0)
        self._store.deliveries.add(entry, self._sinks)
        return entry

    def _new(self, arrival: Arrival, key: str, sha256: str, now: float) -> Entry:
        def taken(name: str) -> bool:
            return self._store.documents.taken(name) or self._occupied(name)

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
        load = self._store.documents.load()
        if inside:
            load = replace(load, documents=load.documents - 1)
        held = self._store.documents.held()
        return admit(self._rules.bounds, load, held, content=content, crops=crops, gain=gain)
