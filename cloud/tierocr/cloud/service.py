"""The service behind the routes: its states, its stages, and what is let in.

Loads the model, warms it, and only then is ready. Must not know about HTTP:
requests come as values with a deadline in seconds of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tierocr.cloud.admission import Bound, Busy, Late, come_again
from tierocr.cloud.batching import BatchLimits, DeadlineBatcher
from tierocr.cloud.crops import WINDOW, PageCrops
from tierocr.cloud.decoding.source import PageSource
from tierocr.cloud.device import Device
from tierocr.cloud.dispatch import Dispatcher
from tierocr.cloud.files import SIDE_BY_SIDE, FileReader, PageReader
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.model import FirstCheck, Model, OpenReaders, open_model
from tierocr.cloud.pipeline import Answered, Pipeline
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.ways import MOST_WAYS
from tierocr.shared.document import Document, EngineInfo, Failure, PageImage, Pixels
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.ocr.detector import Detector, Found
from tierocr.shared.protocol import Refined, RefineReply, RefineRequest, RegionImage

LOADING, READY, DRAINING, FAILED = "loading", "ready", "draining", "failed"
RESERVE = 8
"""One part in so many is kept, on top of a bound, for devices that hold little."""

_LINE_COLUMNS = 320  # of a usual line
_SLACK = 0.05
_TIMINGS = ("queue_ms", "decode_ms", "infer_ms", "post_ms")
_log = logging.getLogger(__name__)


class Service:
    """One model on its devices, and everything that feeds it. Owned by one event loop."""

    def __init__(
        self,
        settings: CloudSettings,
        readers: OpenReaders,
        metrics: Metrics,
        source: PageSource,
        first_check: FirstCheck = lambda _: None,
    ) -> None:
        """`readers` is called in a thread, once for each time the model is opened, and
        `first_check` with each that it opened. `source` decodes whole files.
        """
        self._settings, self._metrics, self._source = settings, metrics, source
        self._open = partial(open_model, settings, readers, first_check)
        limits = settings.limits
        most = settings.batching.max_queue_crops
        self.crops = Bound(most, "crops", reserve=most // RESERVE)
        self.requests = Bound(limits.requests, "requests", reserve=limits.requests // RESERVE)
        self.files = Bound(limits.files, "files", reserve=1)
        self._devices: list[Device] = []
        self._decoders = ThreadPoolExecutor(
            max_workers=min(8, cpu_quota()), thread_name_prefix="tierocr-decode"
        )
        self._file_threads = ThreadPoolExecutor(
            max_workers=self._files_at_once, thread_name_prefix="tierocr-file"
        )
        # those of one job beside those of the requests
        self._page_threads = ThreadPoolExecutor(
            max_workers=SIDE_BY_SIDE * (self._files_at_once + 1), thread_name_prefix="tierocr-page"
        )
        self._state = LOADING
        self._loading: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._model: Model | None = None
        self._fit = True
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
        for device in self._devices:
            device.close()
        self._source.close()
        for threads in (self._decoders, self._file_threads, self._page_threads):
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
        if self._model is None:
            raise TierocrError("unavailable", "the model is still loading")
        return self._model.info

    @property
    def workers(self) -> list[str]:
        """What each worker runs on. Raises like `info`."""
        _ = self.info
        return [r.info.runtime for r in self._model.readers] if self._model else []

    @property
    def file_reader(self) -> FileReader:
        """Reads whole files. Raises TierocrError `unavailable` before the model is loaded."""
        if self._file_reader is None:
            raise TierocrError("unavailable", "the model is still loading")
        return self._file_reader

    @property
    def _files_at_once(self) -> int:
        return self.files.places + self.files.reserve

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

    def expected_wait(self, owner: str = "") -> float:
        """Seconds until a region that comes now from that owner would be read, those counted that
        are still being decoded. Owners take turns: who has sent a flood waits for it, others not.
        """
        if self._dispatcher is None:
            return 1.0
        taken = self.crops.taken
        a_round = max(1, self._settings.batching.max_padded_width // _LINE_COLUMNS)
        part = self.crops.ahead(owner, a_round) / taken if taken else 1.0
        return part * self._dispatcher.expected_wait(taken)

    def retry_after(self, owner: str = "") -> int:
        """Whole seconds after which a caller that was turned away should come again."""
        return come_again(self.expected_wait(owner), random.random())

    def require_room(self, owner: str = "") -> None:
        """Raise `Busy` when the queue is longer for the owner than what may be waited, at the pace
        measured.
        """
        wait, most = self.expected_wait(owner), self._settings.batching.max_queue_ms / 1000
        if wait > most:
            why = f"the queue is {wait:.1f} s long, at most {most:g} s"
            raise Busy(why, retry_after=self.retry_after(owner))

    async def refine(self, request: RefineRequest, deadline: float, owner: str = "") -> RefineReply:
        """Read the regions for `owner`; those that are not read in time say so in their own answer.

        Raises TierocrError `deadline_exceeded` when none can be, `over_capacity`, `unavailable`.
        """
        self.require_ready()
        dispatcher, pipeline = self._dispatcher, self._pipeline
        if dispatcher is None or pipeline is None:
            raise TierocrError("unavailable", "the model is still loading")
        self.require_room(owner)
        wait, retry_after = self.expected_wait(owner), self.retry_after(owner)
        with self.crops.hold(len(request.regions), owner=owner, retry_after=retry_after):
            remaining = deadline - time.monotonic()
            if remaining <= wait:
                self._metrics.missed()
                raise Late("the queue is longer than the deadline", retry_after)
            # Some of the time is kept for the answer's way back.
            until = deadline - min(_SLACK, remaining / 10)
            answers = await self._refine_until(pipeline, request.regions, until, owner)
        late = [a for a in answers if a.refined.error and a.refined.error.code == _LATE.code]
        if answers and len(late) == len(answers):
            raise Late(_LATE.message, self.retry_after(owner))
        return RefineReply(
            request_id=request.request_id,
            engine=self.info,
            results=tuple(a.refined for a in answers),
            timings=_longest(answers),
        )

    async def read_file(self, data: bytes, name: str, deadline: float, owner: str = "") -> Document:
        """Read a whole file for `owner`. Raises TierocrError `deadline_exceeded`, `over_capacity`,
        `unavailable`.
        """
        self.require_ready()
        try:
            return await self.file_reader.read(data, name, deadline, owner)
        except TierocrError as error:
            if error.code == _LATE.code:
                self._metrics.missed()
            raise

    async def with_pictures(
        self, data: bytes, draw: Callable[[Iterable[PageImage]], bytes], deadline: float
    ) -> bytes:
        """What `draw` makes of the pages of a file. Raises like `read_file`."""
        return await self.file_reader.with_pictures(data, draw, deadline)

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
        way. A second call waits for the first. One that misreads its canary may be replaced so.
        """
        if self._state != READY:
            raise TierocrError("unavailable", f"the service is {self._state}")
        async with self._reloading:
            self._use(await asyncio.get_running_loop().run_in_executor(None, self._open))
        _log.info("the model was opened anew: %s", self.info.pack)

    async def _load(self) -> None:
        try:
            model = await asyncio.get_running_loop().run_in_executor(None, self._open)
        except BaseException:
            self._state = FAILED
            raise
        self._wire(model)
        self._use(model)
        self._watching = asyncio.create_task(self._watch(), name="tierocr-canary")
        if self._state == LOADING:
            self._state = READY
        info = self.info
        _log.info("ready: %s %s on %s", info.pack, info.precision, info.runtime)

    def _wire(self, model: Model) -> None:
        """The stages, for as many workers as the model has from now on."""
        batching, limits = self._settings.batching, self._settings.limits
        recognisers, detectors = Device(len(model.readers)), Device(len(model.detectors), "detect")
        self._devices = [recognisers, detectors]
        pages = WINDOW * SIDE_BY_SIDE * (self._files_at_once + 1)
        batcher = DeadlineBatcher(
            BatchLimits(
                max_entries=MOST_WAYS * (self.crops.places + self.crops.reserve) + pages,
                max_batch=batching.max_batch,
                max_wait=batching.max_wait_ms / 1000,
                max_cost=batching.max_padded_width,
                mixed=model.mixed,
            )
        )
        self._dispatcher = Dispatcher(
            [reader.recogniser for reader in model.readers],
            batcher,
            recognisers,
            self._metrics,
            max_batch=batching.max_batch,
        )
        self._pipeline = Pipeline(
            self._dispatcher,
            self._decoders,
            self._metrics,
            facts=model.readers[0].recogniser.facts,
            find=partial(self._find, model.detectors),
            limits=limits.region(),
        )
        self._dispatcher.start()

    def _use(self, model: Model) -> None:
        """From now on this model reads; what the device has begun is finished by the old one."""
        assert self._dispatcher is not None and self._pipeline is not None
        facts = model.readers[0].recogniser.facts
        self._dispatcher.use([reader.recogniser for reader in model.readers])
        self._pipeline.use(facts, partial(self._find, model.detectors))
        crops = PageCrops(self._dispatcher, asyncio.get_running_loop(), facts)
        self._file_reader = FileReader(
            PageReader(model.readers[0], model.detectors, self._devices[1], crops),
            self._file_threads,
            self._page_threads,
            self._source,
            limits=self._settings.limits.file(),
        )
        self._model, self._fit = model, True
        self._metrics.engine(model.info)

    async def _find(self, detectors: Sequence[Detector], pixels: Pixels) -> Found:
        """By the first detector that is free; with whole pages in turn."""
        work = self._devices[1].submit(lambda k: detectors[k].find(pixels))
        return await asyncio.wrap_future(work)

    async def _watch(self) -> None:
        """Ask the canary now and then; while it misreads, the service is not ready."""
        pause = self._settings.model.canary_seconds
        while pause:
            await asyncio.sleep(pause)
            model, failure = self._model, None
            assert model is not None
            try:
                await asyncio.wrap_future(self._devices[0].submit(partial(_check, model)))
            except Exception as error:  # whatever a runtime raises: the device is not fit
                failure = error
            if model is not self._model:  # opened anew meanwhile: this says nothing of that one
                continue
            if failure is not None and self._fit:
                _log.critical("the canary failed, nothing more is let in: %s", failure)
            if failure is None and not self._fit:
                _log.warning("the canary reads right again")
            self._fit = failure is None


def _check(model: Model, worker: int) -> None:
    """By one worker for all: their recognisers may be used from any thread."""
    model.check()


_LATE = Failure(code="deadline_exceeded", message="not read before the deadline")


def _longest(answers: list[Answered]) -> dict[str, float]:
    """For each stage the longest that any region spent in it: they pass through side by side."""
    return {
        name: round(max((getattr(a.timings, name) for a in answers), default=0.0), 3)
        for name in _TIMINGS
    }
