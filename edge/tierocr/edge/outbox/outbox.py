"""The outbox: what must not be lost between two moments, on the disk.

What a method has done is durable when it returns; what it could not do has left no trace.
Synchronous, one thread at a time; the outbox's own time (see `ageing`) is passed in. Must not know
who reads, sends or delivers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tierocr.edge.disk import Disk
from tierocr.edge.outbox import states
from tierocr.edge.outbox.ageing import Moment, dump, load, resumed
from tierocr.edge.outbox.choices import to_free
from tierocr.edge.outbox.incoming import Incoming
from tierocr.edge.outbox.outgoing import Outgoing
from tierocr.edge.outbox.refinements import Refinements
from tierocr.edge.outbox.store import Store
from tierocr.edge.outbox.values import Rules, Status
from tierocr.shared.errors import TierocrError

MOMENT = "moment"
"""The note that says what time it was."""


class Outbox:
    """Opened by the constructor. `incoming`: documents that come in; `refinements`: to the cloud
    and back; `outgoing`: to the sinks; `attempts`: readings that did not end; `store`: what
    all of them have on the disk.

    Methods, also of these, raise TierocrError `over_capacity` when the disk is full,
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
        wall: float,
    ) -> None:
        """Open, or make, what is in the folder, and mend what a kill has left. `sinks`: where
        every version is to go. `occupied`: whether a name is in use in one of them by somebody
        else. `wall`: seconds since the epoch, as far as the device knows. Raises TierocrError
        `config_invalid` when the folder cannot be used, or is in use.
        """
        self._rules, self._sinks = rules, tuple(sinks)
        self.store = store = Store(folder, disk or Disk())
        self.refinements = Refinements(store, self._sinks)
        self.incoming = Incoming(store, self.refinements, rules, self._sinks, occupied)
        self.outgoing = Outgoing(store, rules)
        self.attempts = store.attempts
        try:
            self.started = resumed(load(self.note(MOMENT)), wall)
            """The outbox's time at this start."""
            self._recover(self.started)
        except TierocrError as error:
            if error.code != "over_capacity":  # on a full disk the next start tidies up
                store.close()
                raise
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        self.store.close()

    def original(self, document: str) -> bytes:
        """The bytes that a document was read from, while they are kept; may be called from any
        thread. Raises TierocrError `not_found`.
        """
        return self.store.blobs.original(document)

    def status(self, now: float) -> Status:
        """How full it is."""
        documents = self.store.documents
        oldest = documents.oldest()
        return Status(
            load=documents.load(),
            oldest=max(0.0, now - oldest) if oldest is not None else 0.0,
            waiting_documents=len(documents.unrefined()),
            pending=self.store.deliveries.pending(),
        )

    def note(self, name: str) -> str | None:
        """A small text that was kept."""
        return self.store.notes.get(name)

    def put_note(self, name: str, value: str) -> None:
        """Keep a small text."""
        with self.store.transaction():
            self.store.notes.put(name, value)

    def note_moment(self, now: float, wall: float) -> None:
        """Should the agent end now, this is where its time goes on."""
        self.put_note(MOMENT, dump(Moment(time=now, wall=wall)))

    def forget(self, now: float) -> None:
        """Old finished documents are no longer remembered."""
        before = now - self._rules.history_seconds
        with self.store.transaction():
            self.store.documents.forget(before=before, keep=self._rules.history)

    def _recover(self, now: float) -> None:
        store, bounds = self.store, self._rules.bounds
        with store.transaction():
            store.deliveries.keep_sinks(self._sinks)
            for number in store.deliveries.all_done():
                store.documents.finish(number, now)
            excess = store.documents.load().bytes - bounds.max_bytes
            narrower = to_free(store.documents.held(), excess, bounds.when_full)
            self.refinements.drop(narrower, states.NO_ROOM)
        store.blobs.sweep(store.documents.all_waiting(), store.documents.unfinished_ids())
        store.attempts.sweep(self._was_read)

    def _was_read(self, document: str) -> bool:
        entry = self.store.documents.find(document)
        return entry is not None and entry.state != states.RECEIVED
