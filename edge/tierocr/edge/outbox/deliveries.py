"""Which version of which document is to reach which sink: rows in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tierocr.edge.outbox.database import Database, marks
from tierocr.edge.outbox.states import UNREFINED, Entry

PENDING, DONE, GIVEN_UP = "pending", "done", "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A version of a document that is to reach a sink; `attempts` were in vain so far."""

    document: int
    sink: str
    version: int
    final: bool
    attempts: int = 0


class Deliveries:
    """One after the other, inside transactions of the database."""

    def __init__(self, database: Database) -> None:
        """See the class."""
        self._run, self._rows = database.run, database.rows

    def add(self, entry: Entry, sinks: Iterable[str]) -> None:
        """The version that a document has now is to reach these sinks; versions before it that
        have not done so no longer need to.
        """
        self._run(
            "DELETE FROM deliveries WHERE document = ? AND state = ? AND NOT final",
            *(entry.number, PENDING),
        )
        for sink in sinks:
            self._run(
                "INSERT INTO deliveries (document, sink, version, final, state)"
                " VALUES (?, ?, ?, ?, ?)",
                *(entry.number, sink, entry.version, entry.final, PENDING),
            )

    def next(self, sink: str, now: float) -> Delivery | None:
        """The one of the oldest document that is due."""
        rows = self._rows(
            "SELECT document, version, final, attempts FROM deliveries WHERE sink = ?"
            " AND state = ? AND not_before <= ? ORDER BY document, version LIMIT 1",
            *(sink, PENDING, now),
        )
        for number, version, final, attempts in rows:
            return Delivery(
                document=number, sink=sink, version=version, final=bool(final), attempts=attempts
            )
        return None

    def next_due(self, sink: str) -> float | None:
        """When the next one is due."""
        ((at,),) = self._rows(
            "SELECT MIN(not_before) FROM deliveries WHERE sink = ? AND state = ?", sink, PENDING
        )
        found: float | None = at
        return found

    def ended(
        self, row: Delivery, state: str, *, not_before: float = 0.0, error: str | None = None
    ) -> None:
        """How an attempt ended."""
        self._run(
            "UPDATE deliveries SET state = ?, attempts = attempts + 1, not_before = ?, error = ?"
            " WHERE document = ? AND sink = ? AND version = ?",
            *(state, not_before, error, row.document, row.sink, row.version),
        )

    def release(self, sink: str) -> None:
        """All that waits for a sink is due now."""
        self._run(
            "UPDATE deliveries SET not_before = 0 WHERE sink = ? AND state = ? AND not_before > 0",
            *(sink, PENDING),
        )

    def undelivered(self, number: int) -> int:
        """How many deliveries of a document are pending."""
        sql = "SELECT COUNT(*) FROM deliveries WHERE document = ? AND state = ?"
        ((count,),) = self._rows(sql, number, PENDING)
        return int(count)

    def pending(self) -> dict[str, int]:
        """How many deliveries each sink waits for."""
        sql = "SELECT sink, COUNT(*) FROM deliveries WHERE state = ? GROUP BY sink"
        return dict(self._rows(sql, PENDING))

    def keep_sinks(self, sinks: Sequence[str]) -> None:
        """Deliveries to other sinks are given up: the settings no longer name them."""
        self._run(
            f"DELETE FROM deliveries WHERE state = ? AND sink NOT IN ({marks(sinks)})",
            *(PENDING, *sinks),
        )

    def all_done(self) -> list[int]:
        """Documents that are not finished although they are final and nothing of them is
        pending.
        """
        rows = self._rows(
            "SELECT number FROM documents d WHERE finished IS NULL AND version > 0"
            f" AND state NOT IN ({marks(UNREFINED)}) AND NOT EXISTS"
            " (SELECT 1 FROM deliveries WHERE document = d.number AND state = ?)",
            *(*UNREFINED, PENDING),
        )
        return [number for (number,) in rows]
