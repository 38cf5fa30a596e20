"""Whole files: decoded in a thread of their own, each page read on the device in its turn.

Between two pages crops get their chance. A file that is no longer wanted is given up at its next
page. Must not know about HTTP.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from tierocr.cloud.device import Device
from tierocr.shared.document import Document, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits
from tierocr.shared.ocr.reader import Reader, Timed
from tierocr.shared.reading import read_bytes


class FileReader:
    """Reads files with the model that the device owns."""

    def __init__(
        self,
        reader: Reader,
        device: Device,
        threads: Executor,
        *,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`threads`: where files are decoded; as many at once as it has threads."""
        self._reader, self._device, self._threads = reader, device, threads
        self._limits, self._clock = limits, clock

    async def read(self, data: bytes, name: str, deadline: float) -> Document:
        """The document of a file, which may have failed.

        Raises TierocrError `deadline_exceeded`, or what the engine raised.
        """
        given_up = threading.Event()
        pages = _PageReader(self._reader, self._device, given_up)
        work = partial(read_bytes, data, name, pages, limits=self._limits)
        reading = asyncio.get_running_loop().run_in_executor(self._threads, _quietly, work)
        try:
            return await asyncio.wait_for(reading, max(0.0, deadline - self._clock()))
        except asyncio.TimeoutError as error:
            raise TierocrError("deadline_exceeded", "the file was not read in time") from error
        finally:
            given_up.set()


class _GivenUp(BaseException):
    """Nobody waits for the file. Not an Exception: what saves a document from a bad page must not
    catch it.
    """


class _PageReader(Reader):
    """A reader whose pages are read in the device's thread."""

    def __init__(self, reader: Reader, device: Device, given_up: threading.Event) -> None:
        super().__init__(
            reader.detector,
            reader.recogniser,
            info=reader.info,
            options=reader.options,
            source=reader.source,
        )
        self._device, self._given_up = device, given_up

    def read(self, image: PageImage) -> Timed:
        """See `Reader.read`; blocks until the device has had time for the page."""
        if self._given_up.is_set():
            raise _GivenUp
        return self._device.submit(partial(self._read_wanted, image)).result()

    def _read_wanted(self, image: PageImage) -> Timed:
        if self._given_up.is_set():
            raise _GivenUp
        return super().read(image)


def _quietly(work: Callable[[], Document]) -> Document:
    """Run the work; giving up is no crash of the thread."""
    try:
        return work()
    except _GivenUp as error:
        raise TierocrError("cancelled", "the file was given up") from error
