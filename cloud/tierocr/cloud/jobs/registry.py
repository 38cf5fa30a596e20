"""The jobs that there are: in memory for those who ask, in the store for the next process.

A change is stored first and then seen, one at a time, and a caller who goes away cannot interrupt
it in between. Must not know about HTTP, nor how pages are read.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from tierocr.cloud.jobs.disk import Disk, no_room
from tierocr.cloud.jobs.states import EXPIRED, Change, Event, Job, JobFile, accept, cancel, expire
from tierocr.cloud.jobs.store import JobStore
from tierocr.cloud.jobs.turns import Outlook, Pace, estimate, in_turn, pages_per_file, place_of
from tierocr.cloud.quotas import OverQuota
from tierocr.cloud.settings import JobSettings
from tierocr.shared.errors import TierocrError

_LOOK_ROUND = 30.0
_UNKNOWN_WAIT = 10.0  # seconds, while no page has been read yet
_log = logging.getLogger(__name__)
R = TypeVar("R")


class Reservation:
    """Room for an upload, grown as its bytes come."""

    def __init__(self, registry: JobRegistry) -> None:
        """Nothing yet."""
        self._registry = registry
        self.bytes = 0

    def grow(self, count: int) -> None:
        """So many bytes more. Raises TierocrError `over_capacity` when there is no room."""
        self._registry.require_room(count)
        self.bytes += count


class JobRegistry:
    """Owned by one event loop; the store has a thread of its own."""

    def __init__(
        self,
        settings: JobSettings,
        folder: Path,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock`: seconds since the epoch."""
        self.settings, self.disk, self.clock = settings, disk or Disk(), clock
        self._folder = folder
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tierocr-jobs")
        self._store: JobStore | None = None
        self._jobs: dict[str, Job] = {}
        self._unfinished: dict[str, Job] = {}
        self._held = 0  # bytes of all jobs
        self._uploading: set[Reservation] = set()
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._changing = asyncio.Lock()
        self._tidying: asyncio.Task[None] | None = None
        self.pace, self.turns = Pace(), dict[str, int]()
        self.work = asyncio.Event()
        self.stopping = False

    async def start(self) -> None:
        """Open the store. Raises TierocrError `config_invalid`."""
        self._store = await self._in_thread(
            lambda: JobStore(self._folder, self.disk, keep_files=self.settings.keep_files)
        )
        for job in await self._in_thread(self._opened.load):
            self._put(job)
        self.work.set()
        self._tidying = asyncio.create_task(self._tidy(), name="tierocr-jobs-tidy")

    def stop_watching(self) -> None:
        """Whoever watches a job is told to come again."""
        self.stopping = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.set()

    async def stop(self) -> None:
        """Close the store, after the last change."""
        self.stop_watching()
        if self._tidying is not None:
            self._tidying.cancel()
            await asyncio.gather(self._tidying, return_exceptions=True)
        async with self._changing:
            if self._store is not None:
                await self._in_thread(self._store.close)
            self._store = None
        self._thread.shutdown()

    def get(self, owner: str, job: str) -> Job:
        """A job of its owner. Raises TierocrError `not_found`, also for the jobs of others."""
        found = self.find(job)
        if found.owner != owner:
            raise TierocrError("not_found", "there is no such job")
        return found

    def find(self, job: str) -> Job:
        """A job. Raises TierocrError `not_found`."""
        if job not in self._jobs:
            raise TierocrError("not_found", "there is no such job")
        return self._jobs[job]

    def outlook(self, job: Job) -> Outlook:
        """When a job has its turn."""
        order = self.in_turn()
        each = pages_per_file(order)
        return Outlook(
            place=place_of(job, order), seconds=estimate(job, order, each, self.pace.seconds)
        )

    def in_turn(self) -> list[Job]:
        """The unfinished jobs, the next one first."""
        return in_turn(self._unfinished.values(), self.turns)

    def require_quota(self, owner: str) -> None:
        """Raise `OverQuota` when the owner may not hand in another job: it may come again when
        the first of its jobs should be done, or expires.
        """
        own = [j for j in self._jobs.values() if j.owner == owner and j.state != EXPIRED]
        most, kept = self.settings.unfinished_per_device, self.settings.kept_per_device
        unfinished = [j for j in own if not j.finished]
        if len(unfinished) >= most:
            estimates = [self.outlook(job).seconds for job in unfinished]
            wait = min((s for s in estimates if s is not None), default=_UNKNOWN_WAIT)
            raise OverQuota(f"{most} jobs of this device are unfinished", max(1, ceil(wait)))
        if len(own) >= kept:
            ends = [job.expires - self.clock() for job in own if job.expires is not None]
            wait = min(ends, default=_UNKNOWN_WAIT)
            message = f"{kept} jobs of this device are kept; delete some"
            raise OverQuota(message, max(1, ceil(wait)))

    def require_room(self, count: int) -> None:
        """Raise TierocrError `over_capacity` unless the store can take so many bytes more."""
        held = self._held + sum(r.bytes for r in self._uploading)
        if held + count > self.settings.store_bytes:
            raise no_room("the job store is full")
        try:
            free = self.disk.free(self._folder)
        except OSError as error:
            raise no_room(f"the disk under the job store does not answer: {error}") from error
        if free - count < self.settings.free_bytes:
            raise no_room("the disk under the job store is nearly full")

    @contextmanager
    def reserve(self) -> Iterator[Reservation]:
        """Room for an upload, until it has become a job or has gone."""
        reservation = Reservation(self)
        self._uploading.add(reservation)
        try:
            yield reservation
        finally:
            self._uploading.discard(reservation)

    def new_folder(self) -> tuple[str, Path]:
        """The id of a job to come, and where its files belong; not yet made."""
        job = secrets.token_hex(16)
        return job, self._opened.upload_folder(job)

    def with_key(self, owner: str, key: str | None) -> Job | None:
        """The job that came with the same idempotency key."""
        if key is None:
            return None
        return next((j for j in self._jobs.values() if (j.owner, j.key) == (owner, key)), None)

    async def accept(
        self, job: str, owner: str, files: Sequence[JobFile], *, key: str | None, digest: str
    ) -> Job:
        """Take a job whose files are stored; when this returns, it is safe. With the key and the
        content of an earlier one it is that one.

        Raises TierocrError `key_reused`, `rate_limited`, `over_capacity`, `unavailable`.
        """

        async def work() -> Job:
            if (earlier := self.with_key(owner, key)) is not None:
                if earlier.digest != digest:
                    raise TierocrError("key_reused", "another job came with this Idempotency-Key")
                return earlier
            self.require_quota(owner)
            number = 1 + max((j.number for j in self._jobs.values()), default=0)
            new = Job(
                id=job,
                number=number,
                owner=owner,
                created=self.clock(),
                files=tuple(files),
                key=key,
                digest=digest,
            )
            change = accept(new)
            await self._in_thread(partial(self._opened.add, change))
            self._see(change)
            self.work.set()
            return change.job

        return await self._alone(work)

    async def clean_up(self, job: str, remove: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Remove an upload unless it has become a job."""

        async def work() -> None:
            if job not in self._jobs:
                await remove()

        await self._alone(work)

    async def change(
        self,
        job: str,
        transition: Callable[[Job], Change],
        page: tuple[int, int, bytes] | None = None,
    ) -> Job:
        """Change a job; `page` is stored with it. Raises TierocrError `over_capacity`,
        `unavailable`: then nothing has changed.
        """

        async def work() -> Job:
            old = self.find(job)
            change = transition(old)
            if change.job != old:
                await self._in_thread(partial(self._opened.apply, old, change, page))
                self._see(change)
            return change.job

        return await self._alone(work)

    async def discard(self, job: Job) -> Job:
        """Cancel what is unfinished; of what has ended, drop the results."""
        until = self.clock() + self.settings.keep_seconds
        return await self.change(job.id, partial(_discard, until=until))

    async def pages(self, job: str, n: int) -> list[bytes]:
        """The pages of a file as they were stored."""
        return await self._in_thread(partial(self._opened.pages, job, n))

    async def events(self, job: str, after: int) -> list[Event]:
        """What happened to a job after the event of that id."""
        return await self._in_thread(partial(self._opened.events, job, after))

    async def read_upload(self, job: str, n: int) -> bytes:
        """A file as it was uploaded."""
        return await asyncio.to_thread(self._opened.read_upload, job, n)

    @contextmanager
    def watch(self, job: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the job changes, and when the service stops."""
        watcher = asyncio.Event()
        self._watchers.setdefault(job, set()).add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[job].discard(watcher)
            if not self._watchers[job]:
                del self._watchers[job]

    @property
    def _opened(self) -> JobStore:
        if self._store is None:
            raise TierocrError("unavailable", "the job store is closed")
        return self._store

    def _see(self, change: Change) -> None:
        self._put(change.job)
        for watcher in self._watchers.get(change.job.id, ()):
            watcher.set()

    def _put(self, job: Job) -> None:
        self._take(job.id)
        self._jobs[job.id] = job
        self._held += job.weight(self.settings.keep_files)
        if not job.finished:
            self._unfinished[job.id] = job

    def _take(self, job: str) -> None:
        old = self._jobs.pop(job, None)
        self._unfinished.pop(job, None)
        self._held -= old.weight(self.settings.keep_files) if old is not None else 0

    async def _alone(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """After the changes before it, and to its end even if nobody waits any more."""

        async def locked() -> R:
            async with self._changing:
                return await work()

        task = asyncio.create_task(locked())
        task.add_done_callback(_collect)
        return await asyncio.shield(task)

    async def _in_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _tidy(self) -> None:
        """Drop what has expired, again and again."""
        pause = min(_LOOK_ROUND, self.settings.keep_seconds / 4)
        while True:
            await asyncio.sleep(pause)
            try:
                await self.tidy()
            except TierocrError as error:  # a full disk: next time
                _log.warning("expired jobs could not be removed: %s", error.message)

    async def tidy(self) -> None:
        """Drop the results of jobs that have expired, and forget those that did so long ago."""
        now = self.clock()
        due = [j for j in self._jobs.values() if j.expires is not None and j.expires <= now]
        for job in due:
            if job.state == EXPIRED:
                await self._alone(partial(self._forget, job.id))
            else:
                await self.change(
                    job.id, partial(expire, forget_at=now + self.settings.keep_seconds)
                )

    async def _forget(self, job: str) -> None:
        await self._in_thread(partial(self._opened.forget, job))
        self._take(job)


def _discard(job: Job, until: float) -> Change:
    return expire(job, until) if job.finished else cancel(job, until)


def _collect(task: asyncio.Task[Any]) -> None:
    """Whoever waited may have gone; an error is then of no interest to anyone."""
    if not task.cancelled():
        task.exception()
