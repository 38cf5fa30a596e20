"""Versions of documents on their way to the sinks, until each has arrived or never will."""

from __future__ import annotations

from tierocr.edge.outbox.deliveries import DONE, GIVEN_UP, PENDING
from tierocr.edge.outbox.rendering import document_of
from tierocr.edge.outbox.store import Store
from tierocr.edge.outbox.values import Due, Rules


class Outgoing:
    """Methods raise TierocrError like the outbox."""

    def __init__(self, store: Store, rules: Rules) -> None:
        """See `Outbox`."""
        self._store, self._rules = store, rules

    def next(self, sink: str, now: float) -> Due | None:
        """The version to deliver now."""
        delivery = self._store.deliveries.next(sink, now)
        if delivery is None:
            return None
        documents = self._store.documents
        entry = documents.entry(number=delivery.document)
        document = document_of(entry, *documents.content(entry.number))
        return Due(delivery=delivery, entry=entry, document=document)

    def next_at(self, sink: str) -> float | None:
        """When there is something to deliver; it may be in the past."""
        return self._store.deliveries.next_due(sink)

    def delivered(self, due: Due, now: float) -> bool:
        """It has arrived; True when that was the last that happens to the document."""
        return self._ended(due, DONE, None, now)

    def undeliverable(self, due: Due, error: str, now: float) -> bool:
        """It will never arrive there."""
        return self._ended(due, GIVEN_UP, error, now)

    def redeliver(self, due: Due, error: str, not_before: float) -> None:
        """It has not arrived; it is tried again, but not before then."""
        with self._store.transaction():
            self._store.deliveries.ended(due.delivery, PENDING, not_before=not_before, error=error)

    def release(self, sink: str) -> None:
        """A sink is back: what it did not take may be delivered now."""
        with self._store.transaction():
            self._store.deliveries.release(sink)

    def _ended(self, due: Due, state: str, error: str | None, now: float) -> bool:
        number, deliveries = due.entry.number, self._store.deliveries
        with self._store.transaction():
            deliveries.ended(due.delivery, state, error=error)
            last = due.delivery.final and not deliveries.undelivered(number)
            if last:
                self._store.documents.finish(number, now)
        if last and self._rules.keep_originals:
            self._store.blobs.forget_original(due.entry.id)
        return last
