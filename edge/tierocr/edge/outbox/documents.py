"""The outbox's documents and their pages: rows in, values out; decides nothing."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tierocr.edge.outbox.choices import Held, Load, Waiting
from tierocr.edge.outbox.database import Database, marks
from tierocr.edge.outbox.states import RECEIVED, UNREFINED, Entry
from tierocr.shared.errors import TierocrError

_ENTRY = (
    *("number", "id", "sha256", "name", "output", "source", "received", "deadline"),
    *("state", "version", "waiting", "answered", "reason"),
)
_COLUMNS = ", ".join(_ENTRY)
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """A page as it is stored: its packed tree, and what of it waits to be sent."""

    n: int
    content: bytes
    waiting: bool = False
    bytes: int = 0
    gain: float = 0.0


class Documents:
    """One after the other, inside transactions of the database."""

    def __init__(self, database: Database) -> None:
        """See the class."""
        self._run, self._rows = database.run, database.rows

    def add(self, entry: Entry, *, original_bytes: int = 0) -> Entry:
        """A new document; its number is given here."""
        names = _ENTRY[1:]
        values = [_stored(entry, name) for name in names]
        number = self._run(
            f"INSERT INTO documents ({', '.join(names)}, original_bytes)"
            f" VALUES ({marks(names)}, ?)",
            *(*values, original_bytes),
        )
        return replace(entry, number=number)

    def update(self, entry: Entry) -> None:
        """Its state, once it has changed."""
        names = ("state", "version", "waiting", "answered", "reason")
        sets = ", ".join(f"{name} = ?" for name in names)
        values = [getattr(entry, name) for name in names]
        self._run(f"UPDATE documents SET {sets} WHERE number = ?", *values, entry.number)

    def entry(self, *, number: int) -> Entry:
        """A document by its number. Raises TierocrError `not_found`."""
        rows = self._entries("number = ?", number)
        if not rows:
            raise TierocrError("not_found", f"no document {number}")
        return rows[0]

    def find(self, document_id: str) -> Entry | None:
        """A document by its id, also one that is finished."""
        return next(iter(self._entries("id = ?", document_id)), None)

    def unrefined(self) -> list[Entry]:
        """Those that wait for the cloud, the oldest first."""
        return self._entries(
            f"finished IS NULL AND state IN ({marks(UNREFINED)}) ORDER BY number", *UNREFINED
        )

    def received(self) -> list[Entry]:
        """Those that wait to be read."""
        return self._entries("finished IS NULL AND state = ? ORDER BY number", RECEIVED)

    def unfinished_ids(self) -> set[str]:
        """Ids of all that are not finished."""
        return {i for (i,) in self._rows("SELECT id FROM documents WHERE finished IS NULL")}

    def taken(self, output: str) -> bool:
        """Whether a document has this name in the sinks."""
        sql = "SELECT 1 FROM documents WHERE output = ?"
        return bool(self._rows(sql, os.fsencode(output)))

    def load(self) -> Load:
        """What is held of documents that are not finished."""
        ((count, size),) = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(content_bytes + crop_bytes + original_bytes), 0)"
            " FROM documents WHERE finished IS NULL"
        )
        return Load(bytes=size, documents=count)

    def oldest(self) -> float | None:
        """When the oldest document came that is not finished."""
        ((at,),) = self._rows("SELECT MIN(received) FROM documents WHERE finished IS NULL")
        found: float | None = at
        return found

    def set_content(self, number: int, head: bytes, pages: Iterable[PageRow]) -> None:
        """What was read: the document without its pages, and these; all of it packed."""
        size, crops = len(head), 0
        for page in pages:
            size, crops = size + len(page.content), crops + page.bytes
            self._run(
                "INSERT INTO pages (document, n, content, waiting, bytes, gain)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                *(number, page.n, page.content, page.waiting, page.bytes, page.gain),
            )
        self._run(
            "UPDATE documents SET head = ?, content_bytes = ?, crop_bytes = ? WHERE number = ?",
            *(head, size, crops, number),
        )

    def set_original(self, number: int, size: int) -> None:
        """How many bytes of the file itself are kept."""
        self._run("UPDATE documents SET original_bytes = ? WHERE number = ?", size, number)

    def content(self, number: int) -> tuple[Tree, list[Tree]]:
        """Head and pages as they are now."""
        ((head,),) = self._rows("SELECT head FROM documents WHERE number = ?", number)
        rows = self._rows("SELECT content FROM pages WHERE document = ? ORDER BY n", number)
        return _unpacked(head), [_unpacked(content) for (content,) in rows]

    def finish(self, number: int, now: float) -> None:
        """Nothing more happens to it: that it was there is remembered, its content is not."""
        self._run("DELETE FROM pages WHERE document = ?", number)
        self._run("DELETE FROM deliveries WHERE document = ?", number)
        self._run(
            "UPDATE documents SET finished = ?, head = NULL, content_bytes = 0, crop_bytes = 0,"
            " original_bytes = 0 WHERE number = ?",
            *(now, number),
        )

    def forget(self, *, before: float, keep: int) -> None:
        """Finished documents that ended before then, and the oldest beyond so many."""
        self._run("DELETE FROM documents WHERE finished < ?", before)
        self._run(
            "DELETE FROM documents WHERE number IN (SELECT number FROM documents"
            " WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT -1 OFFSET ?)",
            keep,
        )

    def waiting(self) -> list[Waiting]:
        """Of each document the first page that is due first."""
        rows = self._rows(
            "SELECT p.document, p.n, d.answered, MIN(p.not_before) FROM pages p"
            " JOIN documents d ON d.number = p.document WHERE p.waiting GROUP BY p.document"
        )
        return [Waiting(number=a, page=b, answered=c, not_before=d) for a, b, c, d in rows]

    def waiting_pages(self, number: int) -> list[int]:
        """Pages of a document that are to be sent."""
        sql = "SELECT n FROM pages WHERE document = ? AND waiting ORDER BY n"
        return [n for (n,) in self._rows(sql, number)]

    def all_waiting(self) -> list[tuple[str, int]]:
        """Document id and number of every page that is to be sent."""
        return self._rows(
            "SELECT d.id, p.n FROM pages p JOIN documents d ON d.number = p.document"
            " WHERE p.waiting"
        )

    def held(self) -> list[Held]:
        """Documents whose refinement may be dropped."""
        rows = self._rows(
            "SELECT document, SUM(bytes), SUM(gain) FROM pages WHERE waiting GROUP BY document"
        )
        return [Held(number=a, bytes=b, gain=c) for a, b, c in rows]

    def page(self, number: int, n: int) -> Tree:
        """A page as it is now."""
        sql = "SELECT content FROM pages WHERE document = ? AND n = ?"
        ((content,),) = self._rows(sql, number, n)
        return _unpacked(content)

    def attempts(self, number: int, n: int) -> int:
        """How often a page was sent in vain."""
        ((attempts,),) = self._rows(
            "SELECT attempts FROM pages WHERE document = ? AND n = ?", number, n
        )
        return int(attempts)

    def page_done(self, number: int, n: int, tree: Tree | None = None) -> None:
        """A page is not sent any more; `tree`: how it is from now on, if it changed."""
        ((old, crops),) = self._rows(
            "SELECT LENGTH(content), bytes FROM pages WHERE document = ? AND n = ?", number, n
        )
        grown = 0
        if tree is not None:
            content = packed(tree)
            grown = len(content) - old
            self._run(
                "UPDATE pages SET content = ? WHERE document = ? AND n = ?", content, number, n
            )
        self._run("UPDATE pages SET waiting = 0, bytes = 0 WHERE document = ? AND n = ?", number, n)
        self._run(
            "UPDATE documents SET content_bytes = content_bytes + ?, crop_bytes = crop_bytes - ?"
            " WHERE number = ?",
            *(grown, crops, number),
        )

    def release(self) -> None:
        """All pages that wait may be sent now."""
        self._run("UPDATE pages SET not_before = 0 WHERE waiting AND not_before > 0")

    def page_postponed(self, number: int, n: int, not_before: float) -> None:
        """A page is not sent before then; it was sent once more in vain."""
        self._run(
            "UPDATE pages SET attempts = attempts + 1, not_before = ? WHERE document = ? AND n = ?",
            *(not_before, number, n),
        )

    def _entries(self, condition: str, *values: object) -> list[Entry]:
        rows = self._rows(f"SELECT {_COLUMNS} FROM documents WHERE {condition}", *values)
        return [_entry(row) for row in rows]


def _entry(row: Sequence[Any]) -> Entry:
    values = dict(zip(_ENTRY, row, strict=True))
    for name in ("name", "output"):
        values[name] = os.fsdecode(values[name])
    return Entry(**values)


def _stored(entry: Entry, name: str) -> object:
    value = getattr(entry, name)
    return os.fsencode(value) if name in ("name", "output") else value


def packed(tree: Tree) -> bytes:
    """A tree as it is stored."""
    return zlib.compress(json.dumps(tree, separators=(",", ":")).encode(), 1)


def _unpacked(content: bytes) -> Tree:
    tree: Tree = json.loads(zlib.decompress(content))
    return tree
