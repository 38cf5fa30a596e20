"""The join of the two tiers for one input: read every page here, have the unsure lines read
again, merge.

A document is complete as soon as the edge has read it. Refinement runs beside the reading of
later pages and can only improve lines; whatever goes wrong with it becomes a warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tierocr.edge.crops import FORMAT, Crop, encode_line
from tierocr.edge.merging import refusal, take
from tierocr.edge.routing import (
    UNSURE,
    RoutingPlan,
    RoutingPolicy,
    Spent,
    allowed_lines,
    candidates,
    p_error,
    plan,
)
from tierocr.shared.document import (
    Document,
    Failure,
    Line,
    Page,
    PageImage,
    Pixels,
    Route,
)
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import PageRef, Refined, RegionImage
from tierocr.shared.reading import ReadPage, document_of, failed_page, total_seconds

if TYPE_CHECKING:
    from tierocr.edge.refining import Refiner

READING = 2
"""Pages being read at once: while one is detected, the other is recognised."""

DECODED_PAGES = READING + (1 if cpu_quota() > 2 else 0)
"""Those being read, and one decoded ahead; on two cores that would only take turns with the
reading.
"""


_Decoded = tuple[PageImage | PageFailure, float]
_Decoding = asyncio.Task[_Decoded | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How inputs are read: limits, whether a file's own text is used, what may be sent."""

    limits: Limits = field(default_factory=Limits)
    text_layer: bool = False
    policy: RoutingPolicy = field(default_factory=RoutingPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """What one page sent and what came back."""

    page: Page
    sent_lines: int = 0
    sent_bytes: int = 0
    changed: int = 0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredDocument:
    """A finished document with what its refinement cost."""

    document: Document
    edge_pages: tuple[Page, ...]
    refinements: tuple[Refinement, ...]


class TieredReader:
    """Reads inputs with one reader and, if given, one refiner; several inputs may be in flight.

    What was spent is counted over all inputs.
    """

    def __init__(
        self, reader: Reader, refiner: Refiner | None = None, options: ReadOptions | None = None
    ) -> None:
        """Wire the tiers; without a refiner nothing leaves the device."""
        self._reader = reader
        self._refiner = refiner
        self._options = options or ReadOptions()
        self._spent = Spent()
        self._booking = asyncio.Lock()  # from looking at what was spent to booking what will be
        self._room = asyncio.Semaphore(DECODED_PAGES)
        self._device = ThreadPoolExecutor(READING, thread_name_prefix="reader")
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="decoder")

    def close(self) -> None:
        """Stop the threads; nothing may be in flight."""
        self._device.shutdown()
        self._decoder.shutdown()

    async def read(self, data: bytes, name: str) -> TieredDocument:
        """Read one input. A file that cannot be decoded gives a document with status "failed".

        Raises TierocrError only when the edge's own engine fails.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        read: list[ReadPage] = []
        refining: list[asyncio.Task[Refinement]] = []
        failure = None
        try:
            async for page in self._pages(data):
                read.append(replace(page, image=None))
                refining.append(await self._start_refining(page, sha256))
        except TierocrError as error:
            if error.code == "internal":
                raise
            failure = Failure(code=error.code, message=error.message)
        refinements = await asyncio.gather(*refining)
        document = document_of(
            name=name,
            sha256=sha256,
            engine=self._reader.info,
            pages=[r.page for r in refinements],
            seconds=total_seconds(p.seconds for p in read),
            failure=failure,
            errors=_distinct(r.failure for r in refinements),
        )
        return TieredDocument(
            document=document,
            edge_pages=tuple(p.page for p in read),
            refinements=tuple(refinements),
        )

    async def _pages(self, data: bytes) -> AsyncIterator[ReadPage]:
        """Pages in order, each decoded and read while those before it are still being read.

        Over all inputs together, no more than `DECODED_PAGES` are held as pixels. Raises
        TierocrError when no further page can be decoded, after those that could.
        """
        options = self._options
        pages = decode_pages(data, limits=options.limits, text_layer=options.text_layer)
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
        loop = asyncio.get_running_loop()
        timed = await loop.run_in_executor(self._device, self._reader.read, item)
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

    async def _start_refining(self, read: ReadPage, document: str) -> asyncio.Task[Refinement]:
        page = read.page
        if self._refiner is None or read.image is None or not page.lines:
            return asyncio.create_task(_kept(page))
        loop = asyncio.get_running_loop()
        async with self._booking:
            crops = await loop.run_in_executor(
                self._device, self._cut, upright(read.image, page), page.lines
            )
            sizes = {i: len(crop.image) for i, crop in crops.items()}
            routing = plan(page.lines, sizes, self._options.policy, self._spent)
            self._spent = routing.spent
        return asyncio.create_task(
            refine_page(self._refiner, page, routing, crops, f"{document[:32]}/{page.index}")
        )

    def _cut(self, pixels: Pixels, lines: Sequence[Line]) -> dict[int, Crop]:
        policy = self._options.policy
        allowed = allowed_lines(len(lines), policy, self._spent)
        return {i: encode_line(pixels, lines[i]) for i in candidates(lines, policy)[:allowed]}


async def refine_page(
    refiner: Refiner, page: Page, routing: RoutingPlan, crops: Mapping[int, Crop], page_id: str
) -> Refinement:
    """Send what was planned and merge what comes back; never raises TierocrError."""
    lines = _routed(page.lines, routing, crops)
    kept = Refinement(page=replace(page, lines=lines))
    if not routing.refine:
        return kept
    regions = tuple(
        RegionImage(
            id=str(i),
            image=crops[i].image,
            format=FORMAT,
            margin=crops[i].margin,
            text=page.lines[i].text,
            p_error=p_error(page.lines[i]),
            angle=page.lines[i].angle,
        )
        for i in routing.refine
    )
    sent = sum(len(r.image) for r in regions)
    try:
        ref = PageRef(id=page_id, width=page.width, height=page.height)
        reply = await refiner.refine(ref, regions)
    except TierocrError as error:
        failure = Failure(code=error.code, message=error.message)
        return replace(kept, sent_lines=len(regions), sent_bytes=sent, failure=failure)
    asked = {r.id for r in regions}
    answers = {r.id: r for r in reply.results if r.id in asked}
    merged = [_merged(i, line, answers.get(str(i)), crops) for i, line in enumerate(lines)]
    return Refinement(
        page=replace(page, lines=tuple(merged)),
        sent_lines=len(regions),
        sent_bytes=sent,
        changed=sum(a.text != b.text for a, b in zip(merged, lines, strict=True)),
    )


def upright(image: PageImage, page: Page) -> Pixels:
    """The decoded pixels turned as the reader turned the page."""
    turns = (page.orientation - image.orientation) // 90 % 4
    return np.ascontiguousarray(np.rot90(image.pixels, -turns)) if turns else image.pixels


def _routed(
    lines: Sequence[Line], routing: RoutingPlan, crops: Mapping[int, Crop]
) -> tuple[Line, ...]:
    return tuple(
        replace(
            line,
            route=Route(
                reason=routing.reasons[i],
                p_error=p_error(line),
                bytes=len(crops[i].image) if routing.reasons[i] == UNSURE else 0,
            ),
        )
        for i, line in enumerate(lines)
    )


def _merged(index: int, line: Line, answer: Refined | None, crops: Mapping[int, Crop]) -> Line:
    if answer is None or index not in crops:
        return line
    reason = refusal(line, answer, both_calibrated=False)
    if reason is None:
        return take(line, answer, crops[index].quad)
    assert line.route is not None
    return replace(line, route=replace(line.route, reason=f"{UNSURE}, refused: {reason}"))


def _next(pages: Iterator[PageImage | PageFailure]) -> _Decoded | None:
    started = time.perf_counter()
    item = next(pages, None)
    return None if item is None else (item, time.perf_counter() - started)


async def _kept(page: Page) -> Refinement:
    return Refinement(page=page)


def _distinct(failures: Iterable[Failure | None]) -> list[Failure]:
    return list(dict.fromkeys(f for f in failures if f is not None))
