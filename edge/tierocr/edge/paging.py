"""Pages of a file, decoded and read side by side, within bounds on memory.

Decides how many pages are held as pixels at once, over all files together. Must not know what
happens to a page once it was read.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from tierocr.shared.document import EngineInfo, PageImage
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.reading import ReadPage, failed_page

READING = 2
"""Pages being read at once: while one is detected, the other is recognised."""

DECODED_PAGES = READING + (1 if cpu_quota() > 2 else 0)
"""Those being read, and one decoded ahead; on two cores that would only take turns with the
reading.
"""

_Decoded = tuple[PageImage | PageFailure, float]
_Decoding = asyncio.Task[_Decoded | None]
T = TypeVar("T")


class PageReader:
    """Reads the pages of files with one reader; several files may be in flight."""

    def __init__(self, reader: Reader, limits: Limits, *, text_layer: bool = False) -> None:
        """`text_layer`: use a PDF's own text where it has some."""
        self._reader, self._limits, self._text_layer = reader, limits, text_layer
        self._room = asyncio.Semaphore(DECODED_PAGES)
        self._device = ThreadPoolExecutor(READING, thread_name_prefix="reader")
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="decoder")

    @property
    def info(self) -> EngineInfo:
        """What reads."""
        return self._reader.info

    def close(self) -> None:
        """Stop the threads; nothing may be in flight."""
        self._device.shutdown()
        self._decoder.shutdown()

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run something heavy on the threads that read."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._device, function, *arguments)

    async def pages(self, data: bytes) -> AsyncIterator[ReadPage]:
        """Pages in order, each decoded and read while those before it are still being read.

        Over all inputs together, no more than `DECODED_PAGES` are held as pixels. Raises
        TierocrError when no further page can be decoded, after those that could.
        """
        pages = decode_pages(data, limits=self._limits, text_layer=self._text_layer)
        reading: deque[asyncio.Task[ReadPage]] = deque()
        decoding: _Decoding | None = asyncio.create_task(self._decode(pages))
        failure: TierocrError | None = None
        try:
            while decoding is not None or reading:
                first: list[asyncio.Task[Any]] = [*itertools.islice(reading, 1)]
                first += [decoding] if decoding is not None else []
                await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                if decoding is not None and decoding.done():
                    decoding, failure = self._go_on(decoding, pages, reading)
                while reading and reading[0].done():
                    try:
                        yield reading.popleft().result()
                    finally:
                        self._room.release()
            if failure is not None:
                raise failure
        finally:
            await self._abandon(decoding, reading)

    def _go_on(
        self,
        decoding: _Decoding,
        pages: Iterator[PageImage | PageFailure],
        reading: deque[asyncio.Task[ReadPage]],
    ) -> tuple[_Decoding | None, TierocrError | None]:
        """Have a decoded page read and the next one decoded, if there was one."""
        try:
            decoded = decoding.result()
        except TierocrError as error:
            return None, error
        if decoded is None:
            return None, None
        reading.append(asyncio.create_task(self._read_page(*decoded)))
        return asyncio.create_task(self._decode(pages)), None

    async def _decode(self, pages: Iterator[PageImage | PageFailure]) -> _Decoded | None:
        """The next page and how long it took; it takes room until it is released. None at the
        end.
        """
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        try:
            decoded = await loop.run_in_executor(self._decoder, _next, pages)
        except BaseException:
            self._room.release()
            raise
        if decoded is None:
            self._room.release()
        return decoded

    async def _read_page(self, item: PageImage | PageFailure, seconds: float) -> ReadPage:
        if isinstance(item, PageFailure):
            return failed_page(item)
        timed = await self.work(self._reader.read, item)
        return ReadPage(page=timed.page, image=item, seconds={"decode": seconds, **timed.seconds})

    async def _abandon(
        self, decoding: _Decoding | None, reading: Iterable[asyncio.Task[ReadPage]]
    ) -> None:
        """Free the room of pages that nobody will take; a no-op after the last page."""
        for task in reading:
            await asyncio.gather(task, return_exceptions=True)
            self._room.release()
        if decoding is not None:
            with contextlib.suppress(TierocrError):
                if await decoding is not None:
                    self._room.release()


def without_image(read: ReadPage) -> ReadPage:
    """The page once nobody will cut from it any more."""
    return replace(read, image=None)


def _next(pages: Iterator[PageImage | PageFailure]) -> _Decoded | None:
    started = time.perf_counter()
    item = next(pages, None)
    return None if item is None else (item, time.perf_counter() - started)
