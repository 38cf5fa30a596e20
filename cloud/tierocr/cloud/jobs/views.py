"""What a caller is shown of a job: JSON, server-sent events, documents. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone

from tierocr.cloud.jobs.pages import unpack_page
from tierocr.cloud.jobs.states import CANCELLED, DONE, EXPIRED, FAILED, Event, Job, JobFile
from tierocr.cloud.jobs.turns import Outlook
from tierocr.shared.document import Document, Failure
from tierocr.shared.errors import TierocrError
from tierocr.shared.reading import document_of, total_seconds

KEEP_ALIVE = b": keep-alive\n\n"


def address_of(job: Job) -> str:
    """The path under which the job is found."""
    return f"/v1/jobs/{job.id}"


def tree_of(job: Job, outlook: Outlook) -> dict[str, object]:
    """The job as JSON shows it."""
    return {
        "id": job.id,
        "state": job.state,
        "created": _iso(job.created),
        "expires": _iso(job.expires),
        "place": outlook.place,
        "estimate_seconds": None if outlook.seconds is None else round(outlook.seconds, 1),
        "events": f"{address_of(job)}/events",
        "files": [_file_tree(job, n, file) for n, file in enumerate(job.files)],
    }


def event_bytes(event: Event) -> bytes:
    """One event of `text/event-stream`."""
    data = json.dumps(event.data, ensure_ascii=False)
    return f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n".encode()


def require_result(job: Job, n: int) -> JobFile:
    """The file, if there is a document of it.

    Raises TierocrError `not_found`, `not_finished`, `cancelled`, or what its reading failed with.
    """
    if n >= len(job.files):
        raise TierocrError("not_found", f"the job has {len(job.files)} files, counted from 0")
    file = job.files[n]
    if file.state == EXPIRED:
        raise TierocrError("not_found", "the result has expired")
    if file.state == CANCELLED:
        raise TierocrError("cancelled", "the job was cancelled before the file was read")
    if file.state == FAILED and file.pages == file.pages_failed:
        error = file.error or Failure(code="bad_image", message="nothing could be read")
        raise TierocrError(error.code, error.message)
    if file.state not in (DONE, FAILED):
        raise TierocrError("not_finished", f"the file is {file.state}")
    return file


def document_from(file: JobFile, contents: Sequence[bytes]) -> Document:
    """The document of a finished file. `contents`: its pages as they were stored."""
    pages = [unpack_page(content) for content in contents]
    assert file.engine is not None
    return document_of(
        name=file.name,
        sha256=file.sha256,
        engine=file.engine,
        pages=[p.page for p in pages],
        seconds=total_seconds(p.seconds for p in pages),
        failure=file.error,
    )


def _file_tree(job: Job, n: int, file: JobFile) -> dict[str, object]:
    error = file.error
    return {
        "file": n,
        "name": file.name,
        "bytes": file.bytes,
        "sha256": file.sha256,
        "state": file.state,
        "pages": {"done": file.pages, "failed": file.pages_failed, "total": file.total},
        "error": error and {"code": error.code, "message": error.message},
        "result": f"{address_of(job)}/files/{n}/result",
    }


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
