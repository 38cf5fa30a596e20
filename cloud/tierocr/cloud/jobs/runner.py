"""Reads the files of jobs, one after the other, whenever requests leave room.

A page is stored before the next one is asked for, and a file that was begun goes on with its next
page, so that nothing is read twice but the page that was under way when the process ended. Must
not know about HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from tierocr.cloud.files import FilePages, FileReader, GivenUp
from tierocr.cloud.jobs.pages import StoredPage, pack_page
from tierocr.cloud.jobs.registry import JobRegistry
from tierocr.cloud.jobs.states import Change, Job, add_page, begin_file, finish_file
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import PageFailure
from tierocr.shared.reading import ReadPage, failed_page

_BREATH = 0.02
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
_LATE_CODES = ("over_capacity", "unavailable")
_log = logging.getLogger(__name__)
R = TypeVar("R")


class Readers(Protocol):
    """What the runner wants of the service."""

    async def loaded(self) -> None:
        """Wait until the model is there."""
        ...

    @property
    def file_reader(self) -> FileReader:
        """Reads files. Raises TierocrError `unavailable` before the model is loaded."""
        ...

    @property
    def busy(self) -> bool:
        """Whether requests are under way."""
        ...


class JobRunner:
    """One file at a time. Owned by one event loop."""

    def __init__(self, registry: JobRegistry, readers: Readers) -> None:
        """Wire it; `start` makes it run."""
        self._registry, self._readers = registry, readers
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tierocr-job")
        self._given_up = threading.Event()
        self._reading: str | None = None
        self._turn, self._loaded = 0, False
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with what the last process has left."""
        self._task = asyncio.create_task(self._run(), name="tierocr-job-runner")
        self._task.add_done_callback(_report_crash)

    async def stop(self) -> None:
        """End after the page that is under way; the rest is for the next process."""
        self._stopping.set()
        self._given_up.set()
        self._registry.work.set()
        if self._task is not None:
            if not self._loaded:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._thread.shutdown()

    def give_up(self, job: str) -> None:
        """The job was cancelled: read no further."""
        if job == self._reading:
            self._given_up.set()

    async def _run(self) -> None:
        await self._readers.loaded()
        self._loaded = True
        while not self._stopping.is_set():
            self._registry.work.clear()
            order = self._registry.in_turn()
            if not order:
                await self._registry.work.wait()
                continue
            job = order[0]
            self._turn += 1
            self._registry.turns[job.owner] = self._turn
            self._reading, self._given_up = job.id, threading.Event()
            try:
                await self._read_next(job)
            except TierocrError as error:
                _log.warning("job %s waits: %s", job.id, error.message)
                await self._pause(_FIRST_PAUSE)
            except Exception as error:  # whatever it is, the other files are read
                _log.error("a file of job %s could not be read", job.id, exc_info=error)
                await self._finish(job, TierocrError("internal", "the file could not be read"))
            finally:
                self._reading = None

    async def _read_next(self, job: Job) -> None:
        """Read the next file of a job to its end, or until that is no longer wanted."""
        n = job.next_file
        assert n is not None
        reader = self._readers.file_reader
        failure: TierocrError | None = None
        try:
            data = await self._registry.read_upload(job.id, n)
            pages = await self._in_thread(
                partial(_open, reader, data, self._given_up, job.files[n].pages, job.owner)
            )
        except TierocrError as error:
            if error.code in _LATE_CODES or self._given_up.is_set():
                raise
            failure = error
        else:
            del data
            begin = partial(begin_file, n=n, total=pages.count, engine=reader.info)
            try:
                await self._persist(job.id, begin)
                failure = await self._read_pages(job.id, n, pages)
            finally:
                await self._in_thread(pages.close)
        await self._finish(job, failure)

    async def _finish(self, job: Job, error: TierocrError | None) -> None:
        """The file that was the job's next one has come to its end."""
        n = job.next_file
        assert n is not None
        expires = self._registry.clock() + self._registry.settings.keep_seconds
        failure = Failure(code=error.code, message=error.message) if error else None
        if not self._interrupted:
            await self._persist(job.id, partial(finish_file, n=n, failure=failure, expires=expires))

    async def _read_pages(self, job: str, n: int, pages: FilePages) -> TierocrError | None:
        """The pages that are left; what is wrong with the file as a whole is returned."""
        while not self._interrupted:
            index = self._registry.find(job).files[n].pages
            started = time.monotonic()
            await self._give_way()
            try:
                page = await self._in_thread(partial(_next, pages, index))
            except TierocrError as error:
                if error.code in _LATE_CODES:
                    raise
                return error
            if page is None:
                return None
            self._registry.pace.add(time.monotonic() - started)
            content = pack_page(StoredPage(page=page.page, seconds=dict(page.seconds)))
            add = partial(
                add_page, n=n, index=index, failure=page.page.error, result_bytes=len(content)
            )
            await self._persist(job, add, (n, index, content))
        return None

    async def _persist(
        self,
        job: str,
        transition: Callable[[Job], Change],
        page: tuple[int, int, bytes] | None = None,
    ) -> None:
        """Store a change; while the disk is full, wait for room: what was read is not lost."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._registry.change(job, transition, page)
                return
            except TierocrError as error:
                if error.code not in _LATE_CODES or self._stopping.is_set():
                    raise
                _log.warning("job %s cannot be stored: %s", job, error.message)
            await self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _give_way(self) -> None:
        """Requests have somebody waiting; jobs go before them only after a while."""
        until = time.monotonic() + self._registry.settings.give_way_seconds
        while self._readers.busy and not self._interrupted and time.monotonic() < until:
            await self._pause(_BREATH)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except asyncio.TimeoutError:
            return

    @property
    def _interrupted(self) -> bool:
        return self._stopping.is_set() or self._given_up.is_set()

    async def _in_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _open(
    reader: FileReader, data: bytes, given_up: threading.Event, first: int, owner: str
) -> FilePages:
    try:
        return reader.open(data, given_up, first=first, owner=owner)
    except GivenUp as error:
        raise TierocrError("cancelled", "the job was given up") from error


def _next(pages: FilePages, index: int) -> ReadPage | None:
    """The page of that index, None after the last. Raises TierocrError when the file ends in an
    error; a page on which the model failed is a page that failed.
    """
    try:
        return next(pages, None)
    except GivenUp as error:
        raise TierocrError("cancelled", "the job was given up") from error
    except Exception as error:
        if isinstance(error, TierocrError) and error.code != "internal":
            raise
        _log.error("a page of a job could not be read", exc_info=error)
        failure = Failure(code="internal", message="the model failed on this page")
        return failed_page(PageFailure(index=index, failure=failure))


def _report_crash(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.critical("no job is read any more", exc_info=task.exception())
