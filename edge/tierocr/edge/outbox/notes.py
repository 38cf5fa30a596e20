"""Small texts that outlive the process, by name: what was spent, for one."""

from __future__ import annotations

from tierocr.edge.outbox.database import Database


class Notes:
    """One after the other, inside transactions of the database."""

    def __init__(self, database: Database) -> None:
        """See the class."""
        self._run, self._rows = database.run, database.rows

    def get(self, name: str) -> str | None:
        """What stands under a name."""
        rows = self._rows("SELECT value FROM notes WHERE name = ?", name)
        return rows[0][0] if rows else None

    def put(self, name: str, value: str) -> None:
        """Write it down."""
        self._run("INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)", name, value)
