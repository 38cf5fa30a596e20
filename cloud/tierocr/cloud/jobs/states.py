"""What a job is, and how it changes: a state machine.

Pure: every change is a function of a job and what happened, time included; it returns the new job
and the events that tell of the change, which together give the whole story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tierocr.shared.document import EngineInfo, Failure
from tierocr.shared.errors import TierocrError

QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
CANCELLED, EXPIRED = "cancelled", "expired"
UNFINISHED = (QUEUED, RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """One file of a job. `total`: its pages, None until they were counted; `pages`: how many are
    there, `pages_failed` of them without a reading. `result_bytes`: what these take in the store.
    """

    name: str
    bytes: int
    sha256: str
    state: str = QUEUED
    total: int | None = None
    pages: int = 0
    pages_failed: int = 0
    result_bytes: int = 0
    error: Failure | None = None
    engine: EngineInfo | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state not in UNFINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Times are seconds since the epoch. `number`: grows with the order in which jobs came.

    `key`, `digest`: the caller's idempotency key, and what the content was that came with it.
    `events`: how many there have been.
    """

    id: str
    number: int
    owner: str
    created: float
    files: tuple[JobFile, ...]
    digest: str = ""
    key: str | None = None
    state: str = QUEUED
    expires: float | None = None
    events: int = 0

    @property
    def finished(self) -> bool:
        """Whether nothing more is read."""
        return self.state not in UNFINISHED

    @property
    def next_file(self) -> int | None:
        """The file that is read next, or being read."""
        return next((n for n, file in enumerate(self.files) if not file.finished), None)

    def has_uploads(self, keep: bool) -> bool:
        """Whether its files are still there as they were uploaded: until it has ended, or, where
        they are kept for formats that show them, as long as its results.
        """
        return not self.finished or (keep and self.state in (DONE, FAILED))

    def weight(self, keep: bool) -> int:
        """Bytes that it takes in the store; `keep`: as for `has_uploads`."""
        uploads = self.has_uploads(keep) and self.finished
        return self.stored_bytes + (sum(f.bytes for f in self.files) if uploads else 0)

    @property
    def stored_bytes(self) -> int:
        """What it takes in the store when no upload is kept."""
        uploads = 0 if self.finished else sum(f.bytes for f in self.files)
        return uploads + sum(f.result_bytes for f in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. `id` counts from 1 within the job; `kind`: `job`, `file`, `page`."""

    id: int
    kind: str
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A job as it is from now on, and what there is to tell; none when nothing changed."""

    job: Job
    events: tuple[Event, ...] = ()


def accept(job: Job) -> Change:
    """A job has come."""
    return _told(job, [("job", {"state": QUEUED, "files": len(job.files)})])


def begin_file(job: Job, n: int, total: int | None, engine: EngineInfo) -> Change:
    """The file is being read from now on; again after a restart."""
    file = job.files[n]
    if job.finished or file.finished:
        return Change(job=job)
    news: list[tuple[str, dict[str, object]]] = []
    if job.state == QUEUED:
        news.append(("job", {"state": RUNNING}))
    if file.state == QUEUED or file.total != total:
        news.append(("file", {"file": n, "state": RUNNING, "total": total}))
    begun = replace(file, state=RUNNING, total=total, engine=engine)
    return _told(replace(_with(job, n, begun), state=RUNNING), news)


def add_page(job: Job, n: int, index: int, failure: Failure | None, result_bytes: int) -> Change:
    """A page of the file is there. Raises TierocrError `internal` for one that is not the next:
    each is there once.
    """
    file = job.files[n]
    if job.finished or file.finished:
        return Change(job=job)
    if index != file.pages:
        raise TierocrError("internal", f"page {index} came where page {file.pages} is next")
    read = replace(
        file,
        pages=file.pages + 1,
        pages_failed=file.pages_failed + (failure is not None),
        result_bytes=file.result_bytes + result_bytes,
    )
    data: dict[str, object] = {"file": n, "page": index, "total": file.total}
    if failure is not None:
        data["error"] = {"code": failure.code, "message": failure.message}
    return _told(_with(job, n, read), [("page", data)])


def finish_file(job: Job, n: int, failure: Failure | None, expires: float) -> Change:
    """The file has no further page. `failure` concerns the whole file; one without any page that
    was read has failed too. The last file ends the job, which is kept until `expires`.
    """
    file = job.files[n]
    if job.finished or file.finished:
        return Change(job=job)
    if failure is None and file.pages == file.pages_failed:
        failure = Failure(code="bad_image", message="no page could be read")
    state = DONE if failure is None else FAILED
    job = _with(job, n, replace(file, state=state, total=file.pages, error=failure))
    data: dict[str, object] = {"file": n, "state": state, "total": file.pages}
    if failure is not None:
        data["error"] = {"code": failure.code, "message": failure.message}
    news: list[tuple[str, dict[str, object]]] = [("file", data)]
    if job.next_file is None:
        end = DONE if any(f.state == DONE for f in job.files) else FAILED
        job = replace(job, state=end, expires=expires)
        news.append(("job", {"state": end}))
    return _told(job, news)


def cancel(job: Job, expires: float) -> Change:
    """Nobody wants the rest of it; what was read stays until `expires`."""
    if job.finished:
        return Change(job=job)
    files = tuple(f if f.finished else replace(f, state=CANCELLED) for f in job.files)
    job = replace(job, files=files, state=CANCELLED, expires=expires)
    return _told(job, [("job", {"state": CANCELLED})])


def expire(job: Job, forget_at: float) -> Change:
    """Its results go; that it was there is remembered until `forget_at`."""
    if not job.finished or job.state == EXPIRED:
        return Change(job=job)
    files = tuple(replace(f, state=EXPIRED, result_bytes=0) for f in job.files)
    job = replace(job, files=files, state=EXPIRED, expires=forget_at)
    return _told(job, [("job", {"state": EXPIRED})])


def _with(job: Job, n: int, file: JobFile) -> Job:
    return replace(job, files=(*job.files[:n], file, *job.files[n + 1 :]))


def _told(job: Job, news: list[tuple[str, dict[str, object]]]) -> Change:
    events = tuple(
        Event(id=job.events + i, kind=kind, data=data) for i, (kind, data) in enumerate(news, 1)
    )
    return Change(job=replace(job, events=job.events + len(events)), events=events)
