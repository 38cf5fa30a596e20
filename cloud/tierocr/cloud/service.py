"""The service behind the routes: its states, its stages, and what is let in.

Loads the model in the device's thread, warms it, and only then is ready. Must not know about HTTP:
requests come as values with a deadline in seconds of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from tierocr.cloud.admission import Bound, Busy, come_again
from tierocr.cloud.batching import BatchLimits, DeadlineBatcher
from tierocr.cloud.canary import Canary
from tierocr.cloud.decoding.source import PageSource
from tierocr.cloud.device import Device
from tierocr.cloud.dispatch import Dispatcher
from tierocr.cloud.files import FileReader
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.pipeline import Answered, Pipeline
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.ways import MOST_WAYS
from tierocr.shared.document import Document, EngineInfo, Failure, PageImage
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import Refined, RefineReply, RefineRequest, RegionImage
from tierocr.shared.recognition import BatchRules

LOADING, READY, DRAINING, FAILED = "loading", "ready", "draining", "failed"
_SLACK = 0.05
_TIMINGS = ("queue_ms", "decode_ms", "infer_ms", "post_ms")
_log = logging.getLogger(__name__)

OpenModel = Callable[[], Reader]
FirstCheck = Callable[[Reader], Canary | None]


class Service:
    """One model on one device, and everything that feeds it. Owned by one event loop."""

    def __init__(
        self,
        settings: CloudSettings,
        open_model: OpenModel,
        metrics: Metrics,
        source: PageSource,
        first_check: FirstCheck = lambda _: None,
    ) -> None:
        """`open_model` is called in a thread, once for each time the model is opened, and
        `first_check` with what it opened. `source` decodes whole files.
        """
        self._settings, self._open_model, self._metrics = settings, open_model, metrics
        self._source, self._first_check = source, first_check
        limits = settings.limits
        self.crops = Bound(settings.batching.max_queue_crops, "crops")
        self.requests = Bound(limits.requests, "requests")
        self.files = Bound(limits.files, "files")
        self._device = Device()
        self._decoders = ThreadPoolExecutor(
            max_workers=min(8, cpu_quota()), thread_name_prefix="tierocr-decode"
        )
        self._file_threads = ThreadPoolExecutor(
            max_workers=limits.files, thread_name_prefix="tierocr-file"
        )
        self._state = LOADING
        self._loading: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._canary: Canary | None = None
        self._fit = True
        self._info: EngineInfo | None = None
        self._dispatcher: Dispatcher | None = None
        self._pipeline: Pipeline | None = None
        self._file_reader: FileReader | None = None

    def start(self) -> None:
        """Begin to load the model."""
        self._loading = asyncio.create_task(self._load(), name="tierocr-load")

    async def loaded(self) -> None:
        """Wait until the service is ready. Raises what loading raised."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    def drain(self) -> None:
        """Let nothing new in; what is under way goes on."""
        self._state = DRAINING

    async def stop(self) -> None:
        """Give up what is still under way."""
        self.drain()
        for task in (self._loading, self._watching):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._dispatcher is not None:
            await self._dispatcher.stop()
        self._device.close()
        self._source.close()
        for threads in (self._decoders, self._file_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def state(self) -> str:
        """`loading`, `ready`, `draining` or `failed`."""
        running = self._dispatcher is not None and self._dispatcher.running
        if self._state == READY and not (running and self._fit):
            return FAILED
        return self._state

    @property
    def info(self) -> EngineInfo:
        """What runs. Raises TierocrError `unavailable` before it is known."""
        if self._info is None:
            raise TierocrError("unavailable", "the model is still loading")
        return self._info

    @property
    def file_reader(self) -> FileReader:
        """Reads whole files. Raises TierocrError `unavailable` before the model is loaded."""
        if self._file_reader is None:
            raise TierocrError("unavailable", "the model is still loading")
        return self._file_reader

    @property
    def busy(self) -> bool:
        """Whether somebody waits for a region or a file."""
        return bool(self.crops.taken or self.files.taken)

    def require_ready(self) -> None:
        """Raise TierocrError `unavailable` unless requests are taken."""
        if self.state != READY:
            raise TierocrError("unavailable", f"the service is {self.state}")

    def depths(self) -> Mapping[int, int]:
        """Waiting crops by bucket."""
        return self._dispatcher.depths() if self._dispatcher else {}

    def expected_wait(self) -> float:
        """Seconds until a region that comes now would be read, those counted that are still being
        decoded.
        """
        return self._dispatcher.expected_wait(self.crops.taken) if self._dispatcher else 1.0

    def retry_after(self) -> int:
        """Whole seconds after which a caller that was turned away should come again."""
        return come_again(self.expected_wait(), random.random())

    def require_room(self) -> None:
        """Raise `Busy` when the queue is longer than what may be waited, at the pace measured."""
        wait, most = self.expected_wait(), self._settings.batching.max_queue_ms / 1000
        if wait > most:
            why = f"the queue is {wait:.1f} s long, at most {most:g} s"
            raise Busy(why, retry_after=self.retry_after())

    async def refine(self, request: RefineRequest, deadline: float, owner: str = "") -> RefineReply:
        """Read the regions for `owner`; those that are not read in time say so in their own answer.

        Raises TierocrError `deadline_exceeded` when none can be, `over_capacity`, `unavailable`.
        """
        self.require_ready()
        dispatcher, pipeline = self._dispatcher, self._pipeline
        if dispatcher is None or pipeline is None:
            raise TierocrError("unavailable", "the model is still loading")
        self.require_room()
        wait = self.expected_wait()
        with self.crops.hold(len(request.regions), retry_after=self.retry_after()):
            remaining = deadline - time.monotonic()
            if remaining <= wait:
                self._metrics.missed()
                raise TierocrError("deadline_exceeded", "the queue is longer than the deadline")
            # Some of the time is kept for the answer's way back.
            until = deadline - min(_SLACK, remaining / 10)
            answers = await self._refine_until(pipeline, request.regions, until, owner)
        late = [a for a in answers if a.refined.error and a.refined.error.code == _LATE.code]
        if answers and len(late) == len(answers):
            raise TierocrError(_LATE.code, _LATE.message)
        return RefineReply(
            request_id=request.request_id,
            engine=self.info,
            results=tuple(a.refined for a in answers),
            timings=_longest(answers),
        )

    async def read_file(self, data: bytes, name: str, deadline: float) -> Document:
        """Read a whole file. Raises TierocrError `deadline_exceeded`, `over_capacity`,
        `unavailable`.
        """
        self.require_ready()
        try:
            return await self.file_reader.read(data, name, deadline)
        except TierocrError as error:
            if error.code == _LATE.code:
                self._metrics.missed()
            raise

    async def _refine_until(
        self, pipeline: Pipeline, regions: tuple[RegionImage, ...], until: float, owner: str
    ) -> list[Answered]:
        tasks = [asyncio.create_task(pipeline.refine(region, until, owner)) for region in regions]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=max(0.0, until - time.monotonic()))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [
            Answered(refined=Refined(id=region.id, error=_LATE))
            if task.cancelled()
            else task.result()
            for region, task in zip(regions, tasks, strict=True)
        ]

    async def reload(self) -> None:
        """Open the model anew beside the one that reads, and let it take over between two batches.

        Raises what opening it raises, and then the old one goes on; no request is dropped either
        way. A second call waits for the first.
        """
        self.require_ready()
        async with self._reloading:
            opened = await asyncio.get_running_loop().run_in_executor(None, self._open_and_warm)
            self._use(opened)
        _log.info("the model was opened anew: %s", self.info.pack)

    async def _load(self) -> None:
        try:
            opened = await asyncio.wrap_future(self._device.submit(self._open_and_warm))
        except BaseException:
            self._state = FAILED
            raise
        batching = self._settings.batching
        batcher = DeadlineBatcher(
            BatchLimits(
                max_entries=MOST_WAYS * batching.max_queue_crops,
                max_batch=batching.max_batch,
                max_wait=batching.max_wait_ms / 1000,
                max_cost=batching.max_padded_width,
            )
        )
        recogniser = opened.reader.recogniser
        self._dispatcher = Dispatcher(
            recogniser, batcher, self._device, self._metrics, max_batch=batching.max_batch
        )
        self._pipeline = Pipeline(
            self._dispatcher,
            self._decoders,
            self._metrics,
            facts=recogniser.facts,
            limits=self._settings.limits.region(),
        )
        self._use(opened)
        self._dispatcher.start()
        self._watching = asyncio.create_task(self._watch(), name="tierocr-canary")
        if self._state == LOADING:
            self._state = READY
        info = self.info
        _log.info("ready: %s %s on %s", info.pack, info.precision, info.runtime)

    def _use(self, opened: _Opened) -> None:
        """From now on this model reads; what the device has begun is finished by the old one."""
        assert self._dispatcher is not None and self._pipeline is not None
        reader = opened.reader
        self._dispatcher.use(reader.recogniser)
        self._pipeline.use(reader.recogniser.facts)
        self._file_reader = FileReader(
            reader,
            self._device,
            self._file_threads,
            self._source,
            limits=self._settings.limits.file(),
        )
        self._canary, self._fit = opened.canary, True
        self._reader = reader
        self._info = reader.info
        self._metrics.engine(reader.info)

    async def _watch(self) -> None:
        """Ask the canary now and then; while it misreads, the service is not ready."""
        pause = self._settings.model.canary_seconds
        while pause:
            await asyncio.sleep(pause)
            if self._canary is None:
                continue
            check = partial(self._canary.check, self._reader)
            try:
                await asyncio.wrap_future(self._device.submit(check))
            except Exception as error:  # whatever a runtime raises: the device is not fit
                if self._fit:
                    _log.critical("the canary failed, nothing more is let in: %s", error)
                self._fit = False
            else:
                if not self._fit:
                    _log.warning("the canary reads right again")
                self._fit = True

    def _open_and_warm(self) -> _Opened:
        """In a thread: load, run every shape once that is met every day, and ask the canary."""
        reader = self._open_model()
        batching = self._settings.batching
        # what the batcher puts together goes to the engine as it is
        reader.recogniser.rules = BatchRules(
            max_batch=batching.max_batch, max_columns=batching.max_padded_width, few_sizes=False
        )
        height = reader.recogniser.facts.height
        for width in self._settings.model.warm_widths:
            blank = np.full((height, width, 3), 255, dtype=np.uint8)
            for count in {1, batching.max_batch}:
                reader.recogniser.read([blank] * count)
        reader.read(PageImage(pixels=np.full((640, 640, 3), 255, dtype=np.uint8)))
        return _Opened(reader=reader, canary=self._first_check(reader))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A model that is ready to read, and its canary if it has one."""

    reader: Reader
    canary: Canary | None


_LATE = Failure(code="deadline_exceeded", message="not read before the deadline")


def _longest(answers: list[Answered]) -> dict[str, float]:
    """For each stage the longest that any region spent in it: they pass through side by side."""
    return {
        name: round(max((getattr(a.timings, name) for a in answers), default=0.0), 3)
        for name in _TIMINGS
    }
