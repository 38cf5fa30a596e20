"""Jobs on disk: rows in SQLite, uploaded files beside them.

What a method has written is safe when it returns, against a kill as against a loss of power; what
it could not write has left no trace. One owner, one thread at a time, one process a folder.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from tierocr.cloud.jobs.disk import Disk, storage_error
from tierocr.cloud.jobs.schema import migrate
from tierocr.cloud.jobs.states import EXPIRED, Change, Event, Job, JobFile
from tierocr.shared.document import EngineInfo, Failure
from tierocr.shared.errors import TierocrError

DATABASE, UPLOADS = "jobs.sqlite", "files"
_JOB = ("id", "number", "owner", "created", "digest", "key", "state", "expires", "events")
_FILE = (
    *("name", "bytes", "sha256", "state", "total"),
    *("pages", "pages_failed", "result_bytes", "error", "engine"),
)


class JobStore:
    """Opened by the constructor. Methods raise TierocrError `over_capacity` when the disk is full,
    `unavailable` when it fails otherwise.
    """

    def __init__(self, folder: Path, disk: Disk | None = None, *, keep_files: bool = False) -> None:
        """Open, or make, the store in a folder. `keep_files`: uploads stay as long as results are
        kept. Raises TierocrError `config_invalid` when that
        does not work, or another process has it.
        """
        self.folder, self.disk, self._keep = folder, disk or Disk(), keep_files
        try:
            (folder / UPLOADS).mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / DATABASE).touch(mode=0o600)
            self._connection = sqlite3.connect(
                folder / DATABASE, check_same_thread=False, isolation_level=None, timeout=1
            )
        except (OSError, sqlite3.Error) as error:
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

    def load(self) -> list[Job]:
        """All jobs. Uploads that belong to none that needs them are removed: they were cut off by
        the end of the process.
        """
        with self._errors():
            files: dict[str, list[JobFile]] = {}
            names = ", ".join(_FILE)
            for job, *row in self._connection.execute(
                f"SELECT job, {names} FROM files ORDER BY job, n"
            ):
                files.setdefault(job, []).append(_file_of(row))
            jobs = []
            for row in self._connection.execute(f"SELECT {', '.join(_JOB)} FROM jobs"):
                values = dict(zip(_JOB, row, strict=True))
                jobs.append(Job(**values, files=tuple(files.get(values["id"], ()))))
            wanted = {job.id for job in jobs if job.has_uploads(self._keep)}
            for folder in (self.folder / UPLOADS).iterdir():
                if folder.name not in wanted:
                    self.disk.remove(folder)
        return jobs

    def upload_folder(self, job: str) -> Path:
        """Where the files of a job stand, by their numbers."""
        return self.folder / UPLOADS / job

    def read_upload(self, job: str, n: int) -> bytes:
        """A file as it was uploaded. Raises TierocrError `internal` when it is gone."""
        try:
            return self.disk.read(self.upload_folder(job) / str(n))
        except FileNotFoundError as error:
            raise TierocrError("internal", "the uploaded file is gone") from error
        except OSError as error:
            raise storage_error(error) from error

    def add(self, change: Change) -> None:
        """A new job, whose files stand in its folder."""
        job = change.job
        with self._transaction() as connection:
            values = tuple(getattr(job, name) for name in _JOB)
            connection.execute(f"INSERT INTO jobs VALUES ({_marks(_JOB)})", values)
            connection.executemany(
                f"INSERT INTO files VALUES (?, ?, {_marks(_FILE)})",
                [(job.id, n, *_row_of(file)) for n, file in enumerate(job.files)],
            )
            _add_events(connection, change)

    def apply(self, old: Job, change: Change, page: tuple[int, int, bytes] | None = None) -> None:
        """A change of a job. `page`: file, index and content of the page that it is about. The
        pages of a job that expires go, and so do uploads that nobody needs any more.
        """
        job = change.job
        with self._transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = ?, expires = ?, events = ? WHERE id = ?",
                (job.state, job.expires, job.events, job.id),
            )
            sets = ", ".join(f"{name} = ?" for name in _FILE)
            for n, (was, file) in enumerate(zip(old.files, job.files, strict=True)):
                if file != was:
                    connection.execute(
                        f"UPDATE files SET {sets} WHERE job = ? AND n = ?",
                        (*_row_of(file), job.id, n),
                    )
            if job.state == EXPIRED:
                connection.execute("DELETE FROM pages WHERE job = ?", (job.id,))
            if page is not None:
                connection.execute("INSERT INTO pages VALUES (?, ?, ?, ?)", (job.id, *page))
            _add_events(connection, change)
        if old.has_uploads(self._keep) and not job.has_uploads(self._keep):
            self.disk.remove(self.upload_folder(job.id))

    def forget(self, job: str) -> None:
        """Remove every trace of a job."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
        self.disk.remove(self.upload_folder(job))

    def pages(self, job: str, n: int) -> list[bytes]:
        """The pages of a file as they were stored, in their order."""
        with self._errors():
            rows = self._connection.execute(
                "SELECT content FROM pages WHERE job = ? AND n = ? ORDER BY page", (job, n)
            )
            return [content for (content,) in rows]

    def events(self, job: str, after: int) -> list[Event]:
        """What happened to a job after the event of that id, in its order."""
        with self._errors():
            rows = self._connection.execute(
                "SELECT id, kind, data FROM events WHERE job = ? AND id > ? ORDER BY id",
                (job, after),
            )
            return [Event(id=i, kind=kind, data=json.loads(data)) for i, kind, data in rows]

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process is turned away
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        execute("PRAGMA secure_delete = ON")
        with self._plain_transaction() as connection:
            migrate(connection)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._plain_transaction() as connection:
            yield connection

    @contextmanager
    def _plain_transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has rolled it back already
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise storage_error(error) from error


def _unusable(folder: Path, error: Exception) -> TierocrError:
    why = "another process has it" if "database is locked" in str(error) else error
    return TierocrError("config_invalid", f"jobs.folder: {folder} cannot be used: {why}")


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" * len(names))


def _row_of(file: JobFile) -> tuple[object, ...]:
    values = {name: getattr(file, name) for name in _FILE}
    for name in ("error", "engine"):
        values[name] = None if values[name] is None else json.dumps(asdict(values[name]))
    return tuple(values[name] for name in _FILE)


def _file_of(row: Sequence[object]) -> JobFile:
    values = dict(zip(_FILE, row, strict=True))
    for name, kind in (("error", Failure), ("engine", EngineInfo)):
        if values[name] is not None:
            values[name] = kind(**json.loads(str(values[name])))
    return JobFile(**values)  # type: ignore[arg-type]


def _add_events(connection: sqlite3.Connection, change: Change) -> None:
    rows = [(change.job.id, e.id, e.kind, json.dumps(e.data)) for e in change.events]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
