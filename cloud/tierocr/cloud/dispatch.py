"""From the queue to the device and back: the asyncio shell around the batching core.

Decides nothing about which crops go together; sees to it that every caller gets exactly one
answer. Work that expired or was cancelled is dropped before launch, and a crop that breaks its
batch fails alone.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from tierocr.cloud.batching import Batcher, Entry
from tierocr.cloud.device import Device
from tierocr.cloud.metrics import Metrics
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.recognition import Reading

AHEAD = 1
"""Batches that wait behind those that run, so that the device never waits for us."""

_PACE_MEMORY = 0.8
_log = logging.getLogger(__name__)


class CropReader(Protocol):
    """Reads prepared crops; see `tierocr.shared.ocr.recogniser.Recogniser.read`."""

    def read(self, crops: Sequence[Pixels]) -> list[Reading]:
        """One reading for each crop, in the same order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A crop's reading, the seconds that it waited, and the seconds that its batch ran."""

    reading: Reading
    waited: float
    ran: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Job:
    entry: Entry
    crop: Pixels
    content: int
    patient: bool
    future: asyncio.Future[Answer]


@dataclass(slots=True, kw_only=True)
class _Outcome:
    """What a batch came to, by entry key; an entry without a result was dropped."""

    started: float
    seconds: float = 0.0
    results: dict[int, Reading | TierocrError] = field(default_factory=dict)


class Dispatcher:
    """Answers `read` calls through the batcher and the device. Owned by one event loop."""

    def __init__(
        self,
        readers: Sequence[CropReader],
        batcher: Batcher,
        device: Device,
        metrics: Metrics,
        *,
        max_batch: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire it; `start` makes it run. `readers`: one for each of the device's workers, and its
        own: none is asked by two at once.
        """
        self._batcher, self._device = batcher, device
        self._readers: Sequence[CropReader] = ()
        self._metrics, self._max_batch, self._clock = metrics, max_batch, clock
        self._keys = itertools.count()
        self._jobs: dict[int, _Job] = {}
        self._launched = 0
        self._at_device = 0
        self._pace = 0.0
        self._started, self._woken = False, False
        self._timer: asyncio.TimerHandle | None = None
        self.use(readers)

    def use(self, readers: Sequence[CropReader]) -> None:
        """Have batches read by other readers from the next one on.

        Raises ValueError when there is not one for each worker.
        """
        if len(readers) != self._device.workers:
            raise ValueError(f"{len(readers)} readers for {self._device.workers} workers")
        self._readers = readers

    def start(self) -> None:
        """Begin to launch batches."""
        self._started = True
        self._wake()

    async def stop(self) -> None:
        """Launch nothing more; whoever still waits gets `unavailable`."""
        self._started = False
        self._give_up_all()

    @property
    def running(self) -> bool:
        """Whether batches are being launched."""
        return self._started

    def depths(self) -> Mapping[int, int]:
        """Waiting crops by bucket."""
        return self._batcher.depths()

    def expected_wait(self, ahead: int = 0) -> float:
        """Seconds until a crop that comes now would be read, judged by the last batches.

        `ahead`: crops known to be before it, where that is more than have come here yet. Patient
        ones take turns with the others, so as many of them count as there are others, and one.
        """
        patient = sum(job.patient for job in self._jobs.values())
        hurried = max(ahead, len(self._jobs) - patient + self._at_device)
        return self._pace * (hurried + min(patient, hurried + 1))

    async def read(
        self,
        crop: Pixels,
        *,
        bucket: int,
        content: int,
        deadline: float,
        owner: str = "",
        patient: bool = False,
    ) -> Answer:
        """Read one crop, together with others of its bucket.

        `content`: its own width in input columns. `deadline`: in seconds of the clock. `owner`:
        whose share of the device it takes. `patient`: one of many of a whole page, whose deadline
        is far. Raises TierocrError `deadline_exceeded`, `over_capacity`, `unavailable`, or what the
        reader raised.
        """
        if not self.running:
            raise TierocrError("unavailable", "the service is not reading")
        entry = Entry(
            key=next(self._keys),
            bucket=bucket,
            cost=max(bucket, content),
            deadline=deadline,
            arrived=self._clock(),
            owner=owner,
        )
        self._batcher.add(entry)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._jobs[entry.key] = _Job(
            entry=entry, crop=crop, content=content, patient=patient, future=future
        )
        self._wake()
        try:
            return await future
        finally:
            if self._jobs.pop(entry.key, None) is not None:
                self._batcher.cancel(entry.key)

    def _wake(self) -> None:
        """Look at the queue soon: after all that came at the same time has been queued."""
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._woken = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.running:
            return
        try:
            timeout = self._launch_what_is_due()
        except Exception as error:  # a mistake of ours: readiness goes, nothing hangs
            self._started = False
            _log.critical("no batch is launched any more", exc_info=error)
            self._give_up_all()
            return
        if timeout is not None:
            self._timer = asyncio.get_running_loop().call_later(timeout, self._wake)

    def _give_up_all(self) -> None:
        for job in self._jobs.values():
            _fail(job.future, TierocrError("unavailable", "the service is stopping"))

    def _launch_what_is_due(self) -> float | None:
        """Launch as much as the device should have; returns the seconds until it is worth asking
        again.
        """
        workers = self._device.workers
        while self._launched < workers + AHEAD:
            now = self._clock()
            decision = self._batcher.next_batch(now, idle=self._launched < workers)
            for entry in decision.expired:
                self._miss(self._jobs.pop(entry.key).future)
            if not decision.batch:
                return None if decision.wake_at is None else max(0.0, decision.wake_at - now)
            self._launch([self._jobs.pop(entry.key) for entry in decision.batch])
        return None

    def _launch(self, jobs: list[_Job]) -> None:
        try:
            submitted = self._device.submit(partial(self._work, jobs))
        except Exception:  # no thread can be started: they are in no queue any more
            for job in jobs:
                _fail(job.future, TierocrError("unavailable", "the device takes no work"))
            raise
        self._launched += 1
        self._at_device += len(jobs)
        work = asyncio.wrap_future(submitted)
        work.add_done_callback(partial(self._finish, jobs))

    def _work(self, jobs: Sequence[_Job], worker: int) -> _Outcome:
        """In a worker's thread: read what is still wanted."""
        outcome = _Outcome(started=self._clock())
        live = [
            job
            for job in jobs
            if job.entry.deadline > outcome.started and not job.future.cancelled()
        ]
        if live:
            readings = _read_all(self._readers[worker], live)
            outcome.results = {j.entry.key: r for j, r in zip(live, readings, strict=True)}
            outcome.seconds = self._clock() - outcome.started
        return outcome

    def _finish(self, jobs: Sequence[_Job], work: asyncio.Future[_Outcome]) -> None:
        self._launched -= 1
        self._at_device -= len(jobs)
        self._wake()
        if work.cancelled():  # the device was closed before the batch's turn
            for job in jobs:
                _fail(job.future, TierocrError("unavailable", "the service is stopping"))
            return
        error = work.exception()
        if error is not None:
            _log.error("the device failed", exc_info=error)
            for job in jobs:
                _fail(job.future, TierocrError("internal", "the device failed"))
            return
        self._deliver(jobs, work.result())

    def _deliver(self, jobs: Sequence[_Job], outcome: _Outcome) -> None:
        read = [job for job in jobs if job.entry.key in outcome.results]
        if read:
            self._observe(read, outcome)
        for job in jobs:
            result = outcome.results.get(job.entry.key)
            if result is None:
                self._miss(job.future)
            elif isinstance(result, TierocrError):
                _fail(job.future, TierocrError(result.code, result.message))
            elif not job.future.done():
                waited = outcome.started - job.entry.arrived
                job.future.set_result(Answer(reading=result, waited=waited, ran=outcome.seconds))

    def _observe(self, read: Sequence[_Job], outcome: _Outcome) -> None:
        pace = outcome.seconds / len(read) / self._device.workers
        self._pace = pace if not self._pace else _mix(self._pace, pace)
        self._metrics.stage("recognise", outcome.seconds)
        self._metrics.batch(
            buckets=[job.entry.bucket for job in read],
            contents=[job.content for job in read],
            most=self._max_batch,
            waited=[outcome.started - job.entry.arrived for job in read],
        )

    def _miss(self, future: asyncio.Future[Answer]) -> None:
        if not future.done():
            self._metrics.missed()
        _fail(future, TierocrError("deadline_exceeded", "not read before the deadline"))


def _read_all(reader: CropReader, jobs: Sequence[_Job]) -> Sequence[Reading | TierocrError]:
    """Together; if that fails, once more one by one."""
    try:
        readings = reader.read([job.crop for job in jobs])
        if len(readings) == len(jobs):
            return readings
        error: Exception = ValueError(f"{len(readings)} readings for {len(jobs)} crops")
    except Exception as raised:  # whatever a runtime raises concerns these crops only
        error = raised
    if len(jobs) > 1:
        _log.warning("a batch of %d failed, trying one by one: %s", len(jobs), error)
        return [result for job in jobs for result in _read_all(reader, [job])]
    if isinstance(error, TierocrError):
        return [error]
    _log.error("a crop could not be read", exc_info=error)
    return [TierocrError("internal", "the model failed on this region")]


def _mix(old: float, new: float) -> float:
    return _PACE_MEMORY * old + (1 - _PACE_MEMORY) * new


def _fail(future: asyncio.Future[Answer], error: TierocrError) -> None:
    if not future.done():
        future.set_exception(error)
