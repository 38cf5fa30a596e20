"""The outbox's database: one connection, its transactions, how its failures are told.

What a transaction has written is safe when it is left, against a kill as against a loss of power;
one that fails has left no trace. One owner, one thread at a time, one process a folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tierocr.edge.disk import is_full, storage_errors
from tierocr.edge.outbox.schema import migrate
from tierocr.shared.errors import TierocrError

DATABASE = "outbox.sqlite"
LOG_PAGES = 100
"""Pages of 4 KiB after which the log is worked into the database: a log that grows could fill a
small disk by itself.
"""


class Database:
    """Opened by the constructor. Methods raise TierocrError `over_capacity` when the disk is full,
    `output_failed` when it fails otherwise.
    """

    def __init__(self, folder: Path) -> None:
        """Open, or make, the database. Raises TierocrError `config_invalid` when that does not
        work, or another process has it.
        """
        try:
            self._connection = sqlite3.connect(
                folder / DATABASE, check_same_thread=False, isolation_level=None, timeout=1
            )
        except sqlite3.Error as error:
            raise _unusable(folder, error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise _unusable(folder, error) from error
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, or none of it."""
        with storage_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    self._connection.execute("ROLLBACK")
                if is_full(error) or is_full(error.__cause__):
                    self._make_room()
                raise

    def run(self, sql: str, *values: object) -> int:
        """A statement; returns the number of the row that it added."""
        with storage_errors():
            return self._connection.execute(sql, values).lastrowid or 0

    def rows(self, sql: str, *values: object) -> list[Any]:
        """What a question is answered with."""
        with storage_errors():
            return self._connection.execute(sql, values).fetchall()

    def _make_room(self) -> None:
        """Give back what the log of finished transactions takes; the next one may then fit."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process is turned away
        if execute("PRAGMA auto_vacuum").fetchone() != (1,):  # setting it writes
            execute("PRAGMA auto_vacuum = FULL")  # what is freed goes back to the disk
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        execute("PRAGMA journal_size_limit = 1048576")
        execute("BEGIN IMMEDIATE")
        migrate(self._connection)
        execute("COMMIT")


def marks(values: Sequence[object]) -> str:
    """The places of so many values in a statement."""
    return ", ".join("?" * len(values))


def _unusable(folder: Path, error: Exception) -> TierocrError:
    return TierocrError("config_invalid", f"state.folder: {folder} cannot be used: {error}")
