"""The outbox's tables, and how older ones become these."""

from __future__ import annotations

import sqlite3

from tierocr.shared.errors import TierocrError

_STEPS = (
    """
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL,
        name BLOB NOT NULL, output BLOB NOT NULL UNIQUE, source TEXT NOT NULL,
        received REAL NOT NULL, deadline REAL NOT NULL,
        state TEXT NOT NULL, version INTEGER NOT NULL,
        waiting INTEGER NOT NULL, answered INTEGER NOT NULL, reason TEXT,
        head BLOB, finished REAL,
        content_bytes INTEGER NOT NULL DEFAULT 0,
        crop_bytes INTEGER NOT NULL DEFAULT 0,
        original_bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX unfinished ON documents (state) WHERE finished IS NULL;
    CREATE INDEX finished ON documents (finished) WHERE finished IS NOT NULL;
    CREATE TABLE pages (
        document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        n INTEGER NOT NULL, content BLOB NOT NULL,
        waiting INTEGER NOT NULL, bytes INTEGER NOT NULL, gain REAL NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0, not_before REAL NOT NULL DEFAULT 0,
        PRIMARY KEY (document, n)
    );
    CREATE INDEX to_send ON pages (document, n, bytes, gain, not_before) WHERE waiting;
    CREATE TABLE deliveries (
        document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        sink TEXT NOT NULL, version INTEGER NOT NULL, final INTEGER NOT NULL,
        state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
        not_before REAL NOT NULL DEFAULT 0, error TEXT,
        PRIMARY KEY (document, sink, version)
    );
    CREATE INDEX to_deliver ON deliveries (sink, not_before) WHERE state = 'pending';
    CREATE TABLE seen (
        source TEXT NOT NULL, path BLOB NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
        PRIMARY KEY (source, path)
    );
    """,
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, inside a transaction. Raises TierocrError `config_invalid` for
    tables of a newer version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(_STEPS):
        raise TierocrError("config_invalid", "the outbox was written by a newer version of tierocr")
    for number, step in enumerate(_STEPS[version:], version + 1):
        for statement in filter(str.strip, step.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
