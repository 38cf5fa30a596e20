"""Pages on their way to the cloud and back, and those that no longer are.

Joins the rows, the files beside them and the decision which page is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierocr.edge.outbox import states
from tierocr.edge.outbox.choices import Waiting, next_due, next_page
from tierocr.edge.outbox.crops_file import unpack_sent
from tierocr.edge.outbox.rendering import page_of, tree_of
from tierocr.edge.outbox.states import UNREFINED, Entry
from tierocr.edge.outbox.store import Store
from tierocr.edge.outbox.values import Work
from tierocr.shared.document import Page
from tierocr.shared.errors import TierocrError


class Refinements:
    """Methods raise TierocrError like the outbox."""

    def __init__(self, store: Store, sinks: Sequence[str]) -> None:
        """`sinks`: where a version goes that came of it."""
        self._store, self._sinks = store, sinks
        self._under_way: set[int] = set()

    def next_work(self, now: float) -> Work | None:
        """The page to send now; it is under way until it is answered or postponed."""
        documents = self._store.documents
        while (chosen := next_page(self._waiting(), now)) is not None:
            entry = documents.entry(number=chosen.number)
            page = page_of(documents.page(chosen.number, chosen.page))
            try:
                sent = unpack_sent(self._store.blobs.crops(entry.id, chosen.page))
            except TierocrError as error:
                if error.code != "internal":
                    raise
                self._close_page(entry, chosen.page, None, str(error))
                continue
            if entry.state != states.SENT:
                entry = states.sent(entry)
                with self._store.transaction():
                    documents.update(entry)
            attempts = documents.attempts(chosen.number, chosen.page)
            self._under_way.add(chosen.number)
            return Work(entry=entry, page=page, sent=sent, attempts=attempts)
        return None

    def next_work_due(self, now: float) -> float | None:
        """When a page may be sent that may not yet."""
        return next_due(self._waiting(), now)

    def answered(self, work: Work, page: Page) -> Entry:
        """The page as it is with the cloud's answers."""
        entry = self._close_page(work.entry, page.index, page, None)
        self._under_way.discard(work.entry.number)
        return entry

    def refused(self, work: Work, error: TierocrError) -> Entry:
        """The cloud will never read this page: it stays as it is."""
        entry = self._close_page(work.entry, work.page.index, None, str(error))
        self._under_way.discard(work.entry.number)
        return entry

    def postponed(self, work: Work, not_before: float | None) -> None:
        """The page was not answered. `not_before`: when it may be sent again, None where it was
        not the page's fault and it may at once.
        """
        documents = self._store.documents
        self._under_way.discard(work.entry.number)
        entry = documents.entry(number=work.entry.number)
        if entry.state not in UNREFINED:
            return
        with self._store.transaction():
            documents.update(states.postponed(entry))
            if not_before is not None:
                documents.page_postponed(entry.number, work.page.index, not_before)

    def release(self) -> None:
        """The cloud is back: pages that were sent in vain may be sent now."""
        with self._store.transaction():
            self._store.documents.release()

    def expire(self, now: float) -> list[Entry]:
        """Documents whose time is over go out as they are."""
        late = [e for e in self._store.documents.unrefined() if e.deadline <= now]
        return self._give_up([e.number for e in late], states.NO_ANSWER)

    def give_up_all(self, reason: str) -> list[Entry]:
        """Nothing is sent any more: all that waits goes out as it is."""
        return self._give_up([e.number for e in self._store.documents.unrefined()], reason)

    def make_room(self, numbers: Iterable[int]) -> tuple[Entry, ...]:
        """Give up the refinement of these before anything else is written, so that the bound
        holds on the disk at every moment.
        """
        return tuple(self._give_up(list(numbers), states.NO_ROOM))

    def drop(self, numbers: Iterable[int], reason: str) -> tuple[Entry, ...]:
        """Give up the refinement of these, inside a transaction; their crops go afterwards."""
        documents, dropped = self._store.documents, []
        for number in numbers:
            entry = states.given_up(documents.entry(number=number), reason)
            for n in documents.waiting_pages(number):
                documents.page_done(number, n)
            documents.update(entry)
            self._store.deliveries.add(entry, self._sinks)
            dropped.append(entry)
        return tuple(dropped)

    def _waiting(self) -> list[Waiting]:
        waiting = self._store.documents.waiting()
        return [w for w in waiting if w.number not in self._under_way]

    def _give_up(self, numbers: Sequence[int], reason: str) -> list[Entry]:
        if not numbers:
            return []
        with self._store.transaction():
            ended = self.drop(numbers, reason)
        self._store.blobs.forget_crops(e.id for e in ended)
        return list(ended)

    def _close_page(self, entry: Entry, n: int, page: Page | None, refused: str | None) -> Entry:
        documents = self._store.documents
        entry = documents.entry(number=entry.number)
        if entry.state not in UNREFINED:  # it was given up in the meantime
            return entry
        with self._store.transaction():
            documents.page_done(entry.number, n, tree_of(page) if page else None)
            entry = states.answered(entry, refused=refused)
            documents.update(entry)
            if entry.final:
                self._store.deliveries.add(entry, self._sinks)
        self._store.blobs.forget_page(entry.id, n)
        return entry
