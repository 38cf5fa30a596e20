"""Whole files: decoded page by page; regions are found by the detectors, and lines are read with
those of everybody else.

The next page is decoded and looked at while the lines of the last one are read. A file that is no
longer wanted is given up at its next step. Must not know about HTTP.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from functools import partial
from typing import TypeVar

from tierocr.cloud.crops import PageCrops
from tierocr.cloud.decoding.source import OpenFile, PageSource
from tierocr.cloud.device import Device
from tierocr.shared.document import Document, EngineInfo, PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure
from tierocr.shared.ocr.detector import Detector, Found
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.reading import ReadPage, failed_page, gathered

SIDE_BY_SIDE = 2
"""Pages of one file that are read at once."""

NEVER = float("inf")
R = TypeVar("R")


class PageReader:
    """Reads one page with networks that it shares: detectors with their workers, and lines."""

    def __init__(
        self, reader: Reader, detectors: Sequence[Detector], device: Device, crops: PageCrops
    ) -> None:
        """`reader`: whose decisions these are. `device`: has one worker for each detector."""
        self._reader, self._detectors, self._device = reader, detectors, device
        self._crops = crops
        self.info = reader.info

    def read(
        self, image: PageImage, *, deadline: float, owner: str, check: Callable[[], None]
    ) -> ReadPage:
        """The page, without its picture; blocks. `check` raises when it is no longer wanted."""

        def find(pixels: Pixels) -> Found:
            check()
            return self._device.submit(lambda k: self._detectors[k].find(pixels)).result()

        read_crops = partial(self._crops.read, deadline=deadline, owner=owner, check=check)
        timed = self._reader.through(find, read_crops).read(image)
        return ReadPage(page=timed.page, image=None, seconds=timed.seconds)


class FileReader:
    """Reads files; as many at once as there are threads for them."""

    def __init__(
        self,
        pages: PageReader,
        files: Executor,
        threads: Executor,
        source: PageSource,
        *,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`files`: threads that each see to one file; `threads`: where its pages are read.
        `source`: what decodes them.
        """
        self._pages, self._files, self._threads = pages, files, threads
        self._source, self._limits, self._clock = source, limits, clock

    @property
    def info(self) -> EngineInfo:
        """What reads."""
        return self._pages.info

    async def read(self, data: bytes, name: str, deadline: float, owner: str = "") -> Document:
        """The document of a file, which may have failed. `owner`: whose share of the device it
        takes.

        Raises TierocrError `deadline_exceeded`, or what the engine raised.
        """

        def work(given_up: threading.Event) -> Document:
            return self._read(data, name, given_up, deadline, owner)

        return await self._in_time(work, deadline)

    async def with_pictures(
        self, data: bytes, draw: Callable[[Iterable[PageImage]], bytes], deadline: float
    ) -> bytes:
        """What `draw` makes of the pages of a file, which are decoded as it asks for them; those
        that cannot be are left out. Raises TierocrError `deadline_exceeded`.
        """

        def work(given_up: threading.Event) -> bytes:
            check = partial(_check, given_up)
            with closing(self._source.open(data, self._limits, first=0, check=check)) as file:
                return draw(page for page in file if isinstance(page, PageImage))

        return await self._in_time(work, deadline)

    async def _in_time(self, work: Callable[[threading.Event], R], deadline: float) -> R:
        """In a file's thread; the work is told when nobody waits for it any more."""
        given_up = threading.Event()
        quietly = partial(_quietly, partial(work, given_up))
        reading = asyncio.get_running_loop().run_in_executor(self._files, quietly)
        try:
            return await asyncio.wait_for(reading, max(0.0, deadline - self._clock()))
        except asyncio.TimeoutError as error:
            raise TierocrError("deadline_exceeded", "the file was not read in time") from error
        finally:
            given_up.set()

    def open(
        self,
        data: bytes,
        given_up: threading.Event,
        *,
        first: int = 0,
        deadline: float = NEVER,
        owner: str = "",
    ) -> FilePages:
        """The pages of a file from the index `first` on, read as they are asked for; blocks, so for
        a thread. Raises TierocrError when the file as a whole cannot be decoded.
        """
        check = partial(_check, given_up)
        file = self._source.open(data, self._limits, first=first, check=check)
        read = partial(self._pages.read, deadline=deadline, owner=owner)
        return FilePages(file, read, given_up, self._threads)

    def _read(
        self, data: bytes, name: str, given_up: threading.Event, deadline: float, owner: str
    ) -> Document:
        def pages() -> Iterator[ReadPage]:
            with closing(self.open(data, given_up, deadline=deadline, owner=owner)) as opened:
                yield from opened

        return gathered(pages(), data=data, name=name, engine=self.info)


class FilePages:
    """An iterator over the pages of one file as they are read, in their order; to be closed.

    `count`: how many pages the file has, None where that cannot be told.
    """

    def __init__(
        self,
        file: OpenFile,
        read: Callable[..., ReadPage],
        given_up: threading.Event,
        threads: Executor,
    ) -> None:
        """`read`: reads one page, in one of `threads`."""
        self._file, self._read, self._threads = file, read, threads
        self._given_up, self._closed = given_up, threading.Event()
        self._coming: deque[Future[ReadPage]] = deque()
        self._end: Exception | None = None
        self.count = file.count

    def __iter__(self) -> Iterator[ReadPage]:
        """Itself."""
        return self

    def __next__(self) -> ReadPage:
        """The next page; holds no picture. Raises TierocrError like the file, or the engine."""
        while self._end is None and len(self._coming) < SIDE_BY_SIDE:
            self._decode_one()
        if self._coming:
            return self._coming.popleft().result()
        assert self._end is not None
        raise self._end

    def close(self) -> None:
        """Let go of the decoder, and give up the pages that are under way."""
        self._closed.set()
        for page in self._coming:
            page.cancel()
        self._file.close()

    def _decode_one(self) -> None:
        """One page more, or the reason why there is none, which has its turn after the others."""
        self._check()
        started = time.perf_counter()
        try:
            item = next(self._file)
        except (StopIteration, TierocrError) as end:
            self._end = end
            return
        decoded = time.perf_counter() - started
        self._coming.append(self._threads.submit(self._page, item, decoded))

    def _page(self, item: PageImage | PageFailure, decoded: float) -> ReadPage:
        if isinstance(item, PageFailure):
            return failed_page(item)
        self._check()
        page = self._read(item, check=self._check)
        return ReadPage(page=page.page, image=None, seconds={"decode": decoded, **page.seconds})

    def _check(self) -> None:
        _check(self._given_up)
        _check(self._closed)


class GivenUp(BaseException):
    """Nobody waits for the file. Not an Exception: what saves a document from a bad page must not
    catch it.
    """


def _check(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise GivenUp


def _quietly(work: Callable[[], R]) -> R:
    """Run the work; giving up is no crash of the thread."""
    try:
        return work()
    except GivenUp as error:
        raise TierocrError("cancelled", "the file was given up") from error
