"""Whole files: decoded page by page, each page read on the device in its turn.

Between two pages crops get their chance. A file that is no longer wanted is given up at its next
page. Must not know about HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from functools import partial

from tierocr.cloud.decoding.source import OpenFile, PageSource
from tierocr.cloud.device import Device
from tierocr.shared.document import Document, EngineInfo, Failure, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure
from tierocr.shared.ocr.reader import Reader, Timed
from tierocr.shared.reading import ReadPage, document_of, failed_page, total_seconds


class FileReader:
    """Reads files with the model that the device owns."""

    def __init__(
        self,
        reader: Reader,
        device: Device,
        threads: Executor,
        source: PageSource,
        *,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`threads`: where files are read; as many at once as it has threads. `source`: what
        decodes them.
        """
        self._reader, self._device, self._threads = reader, device, threads
        self._source, self._limits, self._clock = source, limits, clock

    @property
    def info(self) -> EngineInfo:
        """What reads."""
        return self._reader.info

    async def read(self, data: bytes, name: str, deadline: float) -> Document:
        """The document of a file, which may have failed.

        Raises TierocrError `deadline_exceeded`, or what the engine raised.
        """
        given_up = threading.Event()
        work = partial(_quietly, partial(self._read, data, name, given_up))
        reading = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.wait_for(reading, max(0.0, deadline - self._clock()))
        except asyncio.TimeoutError as error:
            raise TierocrError("deadline_exceeded", "the file was not read in time") from error
        finally:
            given_up.set()

    def open(self, data: bytes, given_up: threading.Event, *, first: int = 0) -> FilePages:
        """The pages of a file from the index `first` on, read as they are asked for; blocks, so for
        a thread. Raises TierocrError when the file as a whole cannot be decoded.
        """
        file = self._source.open(data, self._limits, first=first, check=partial(_check, given_up))
        return FilePages(file, partial(self._read_page, given_up))

    def _read(self, data: bytes, name: str, given_up: threading.Event) -> Document:
        read: list[ReadPage] = []
        failure = None
        try:
            with closing(self.open(data, given_up)) as pages:
                read.extend(pages)
        except TierocrError as error:
            if error.code == "internal":
                raise
            failure = Failure(code=error.code, message=error.message)
        return document_of(
            name=name,
            sha256=hashlib.sha256(data).hexdigest(),
            engine=self.info,
            pages=[r.page for r in read],
            seconds=total_seconds(r.seconds for r in read),
            failure=failure,
        )

    def _read_page(self, given_up: threading.Event, image: PageImage) -> Timed:
        """Blocks until the device has had time for the page."""

        def work() -> Timed:
            _check(given_up)
            return self._reader.read(image)

        _check(given_up)
        return self._device.submit(work).result()


class FilePages:
    """An iterator over the pages of one file as they are read; to be closed.

    `count`: how many pages the file has, None where that cannot be told.
    """

    def __init__(self, file: OpenFile, read: Callable[[PageImage], Timed]) -> None:
        """`read`: reads one page."""
        self._file, self._read = file, read
        self.count = file.count

    def __iter__(self) -> Iterator[ReadPage]:
        """Itself."""
        return self

    def __next__(self) -> ReadPage:
        """The next page; holds no picture. Raises TierocrError like the file, or the engine."""
        started = time.perf_counter()
        item = next(self._file)
        if isinstance(item, PageFailure):
            return failed_page(item)
        decoded = time.perf_counter() - started
        timed = self._read(item)
        return ReadPage(page=timed.page, image=None, seconds={"decode": decoded, **timed.seconds})

    def close(self) -> None:
        """Let go of the decoder."""
        self._file.close()


class GivenUp(BaseException):
    """Nobody waits for the file. Not an Exception: what saves a document from a bad page must not
    catch it.
    """


def _check(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise GivenUp


def _quietly(work: Callable[[], Document]) -> Document:
    """Run the work; giving up is no crash of the thread."""
    try:
        return work()
    except GivenUp as error:
        raise TierocrError("cancelled", "the file was given up") from error
