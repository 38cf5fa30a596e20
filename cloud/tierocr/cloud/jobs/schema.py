"""The tables of the job store, and how an older store becomes a newer one."""

from __future__ import annotations

import sqlite3

from tierocr.shared.errors import TierocrError

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, owner TEXT NOT NULL,
        created REAL NOT NULL, digest TEXT NOT NULL, key TEXT, state TEXT NOT NULL, expires REAL,
        events INTEGER NOT NULL, UNIQUE (owner, key)
    );
    CREATE TABLE files (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE, n INTEGER NOT NULL,
        name TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, state TEXT NOT NULL,
        total INTEGER, pages INTEGER NOT NULL, pages_failed INTEGER NOT NULL,
        result_bytes INTEGER NOT NULL, error TEXT, engine TEXT, PRIMARY KEY (job, n)
    );
    CREATE TABLE pages (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE, n INTEGER NOT NULL,
        page INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (job, n, page)
    );
    CREATE TABLE events (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE, id INTEGER NOT NULL,
        kind TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (job, id)
    );
    """,
)
"""The n-th leads from version n to n + 1; what stands here is never changed, only added to."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the store to the newest version. Raises TierocrError `config_invalid` for one that a
    newer program has written.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    row = connection.execute("SELECT version FROM schema_version").fetchone()
    version = row[0] if row else 0
    if version > len(MIGRATIONS):
        raise TierocrError(
            "config_invalid", f"the job store has version {version}, newer than {len(MIGRATIONS)}"
        )
    for script in MIGRATIONS[version:]:
        for statement in script.split(";"):
            connection.execute(statement)
    connection.execute("DELETE FROM schema_version")
    connection.execute("INSERT INTO schema_version VALUES (?)", (len(MIGRATIONS),))
