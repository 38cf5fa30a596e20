"""One region: bytes -> pixels -> readings -> answer.

Joins the stages: decoding in threads, recognition by the dispatcher, detection where the region is
not one line that reads well, the answer here. A region's failure is its own answer, never its
neighbours'. Must not know about HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from tierocr.cloud.dispatch import Answer, Dispatcher
from tierocr.cloud.looking import (
    Shape,
    framed,
    joined,
    lines_of,
    says_more,
    shape_of,
    worth_looking,
)
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.sharing import Sharing
from tierocr.cloud.ways import Way, inner_way, refined_of, too_long, ways_of
from tierocr.shared.document import Failure, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, sniff
from tierocr.shared.images.raster import TRUNCATED
from tierocr.shared.ocr.detector import Found
from tierocr.shared.protocol import FORMATS, Refined, RegionImage
from tierocr.shared.recognition import Reading, RecogniserFacts

DOUBT_BELOW = 0.99
"""A line with a smaller mean character probability is read again without its margin."""

NOISE_BELOW = 0.5
"""What is found in a region and read with a smaller mean character probability is no line of it."""

_WAY_BACK = 0.05
"""Seconds before the deadline at which a second view is given up: there is an answer already."""

_log = logging.getLogger(__name__)
Find = Callable[[Pixels], Awaitable[Found]]
Answers = list[tuple[Way, Answer]]
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds that a region spent in each stage."""

    queue_ms: float = 0.0
    decode_ms: float = 0.0
    infer_ms: float = 0.0
    post_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Decoded:
    """A crop, the ways to read it, and the seconds that it took to make them."""

    crop: Pixels
    shape: Shape
    ways: list[Way]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A region's answer and its timings."""

    refined: Refined
    timings: Timings = Timings()


class Pipeline:
    """Refines regions; any number at once."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        decoders: Executor,
        metrics: Metrics,
        *,
        facts: RecogniserFacts,
        find: Find,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the stages. `find` finds text in a picture; `limits` bound one crop."""
        self._dispatcher, self._decoders, self._metrics = dispatcher, decoders, metrics
        self._facts, self._find, self._limits, self._clock = facts, find, limits, clock
        self._sharing: Sharing[Answered] = Sharing()
        self._looking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """One for each owner: who has much to look at waits for itself."""

    def use(self, facts: RecogniserFacts, find: Find) -> None:
        """Prepare crops for another recogniser, and look with another detector, from now on."""
        self._facts, self._find = facts, find

    async def refine(self, region: RegionImage, deadline: float, owner: str = "") -> Answered:
        """Read a region before `deadline` (seconds of the clock); what goes wrong with it is its
        answer. `owner`: whose share of the device it takes. Equal crops that come while one is
        being read share its reading.
        """
        key = hashlib.sha256(region.image).digest(), region.angle, region.margin

        async def work() -> Answered:
            return await self._refine(region, deadline, owner)

        try:
            answered = await self._sharing.do(key, deadline, work)
            return replace(answered, refined=replace(answered.refined, id=region.id))
        except TierocrError as error:
            failure = Failure(code=error.code, message=error.message)
        except Exception as error:  # whatever it is concerns this region only
            _log.error("a region could not be read", exc_info=error)
            failure = Failure(code="internal", message="the region could not be read")
        return Answered(refined=Refined(id=region.id, error=failure))

    async def _refine(self, region: RegionImage, deadline: float, owner: str) -> Answered:
        decoded = await self._in_thread(partial(self._decode, region, deadline))
        self._metrics.stage("decode", decoded.seconds)
        answers = await self._read_all(decoded.ways, deadline, owner)
        if _mean(answers) < DOUBT_BELOW:
            way = inner_way(decoded.crop, region.margin, self._facts)
            again = self._read_all([way] if way else [], deadline, owner)
            answers += await self._in_spare_time(again, deadline) or []
        started = self._clock()
        refined = _best(region.id, answers)
        post_seconds = self._clock() - started
        self._metrics.stage("post", post_seconds)
        if worth_looking(decoded.shape, _mean(answers)):
            look = self._look(region.id, decoded.crop, deadline, owner)
            found = await self._in_spare_time(look, deadline)
            if found is not None and says_more(found, refined):
                refined = found
        looked = self._clock() - started - post_seconds
        return Answered(
            refined=refined,
            timings=Timings(
                queue_ms=1000 * max(a.waited for _, a in answers),
                decode_ms=1000 * decoded.seconds,
                infer_ms=1000 * (max(a.ran for _, a in answers) + looked),
                post_ms=1000 * post_seconds,
            ),
        )

    async def _look(self, region_id: str, crop: Pixels, deadline: float, owner: str) -> Refined:
        """What the lines say that the detector finds in a crop, in their reading order."""
        picture = await self._in_thread(partial(framed, crop))
        async with self._looking.setdefault(owner, asyncio.Lock()):
            started = self._clock()
            found = await self._find(picture)
            self._metrics.stage("detect", self._clock() - started)
        lines = await self._in_thread(partial(lines_of, picture, found.regions))
        read = []
        for line in (line for line in lines if not too_long(line.pixels, self._facts)):
            # one by one: no more of a region is in the queue than when it is read as a line
            ways = await self._in_thread(partial(ways_of, line.pixels, 0.0, self._facts))
            answers = await self._read_all(ways, deadline, owner)
            if _mean(answers) >= NOISE_BELOW:
                read.append((line, _best(region_id, answers)))
        return joined(region_id, read)

    def _decode(self, region: RegionImage, deadline: float) -> _Decoded:
        """In a decoder's thread."""
        started = self._clock()
        if started >= deadline:
            raise TierocrError("deadline_exceeded", "not decoded before the deadline")
        crop = decode_crop(region.image, self._limits)
        if too_long(crop, self._facts):
            raise TierocrError("too_large", f"{crop.shape[1]} x {crop.shape[0]} pixels are no line")
        ways, shape = ways_of(crop, region.angle, self._facts), shape_of(crop)
        return _Decoded(crop=crop, shape=shape, ways=ways, seconds=self._clock() - started)

    async def _in_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._decoders, work)

    async def _read_all(self, ways: list[Way], deadline: float, owner: str) -> Answers:
        """The ways that could be read, at least one. Raises the first error when none could."""
        tasks = [
            self._dispatcher.read(
                way.pixels,
                bucket=way.bucket,
                content=way.content,
                deadline=deadline,
                owner=owner,
            )
            for way in ways
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        answers = [(w, r) for w, r in zip(ways, results, strict=True) if isinstance(r, Answer)]
        for result in results:
            if isinstance(result, BaseException) and not (
                answers and isinstance(result, TierocrError)
            ):
                raise result
        return answers

    async def _in_spare_time(self, view: Coroutine[Any, Any, R], deadline: float) -> R | None:
        """A second view, None where it fails or the time is up: there is an answer already."""
        spare = max(0.0, deadline - _WAY_BACK - self._clock())
        try:
            return await asyncio.wait_for(view, spare)
        except asyncio.TimeoutError:
            return None
        except Exception as error:
            if not isinstance(error, TierocrError):
                _log.error("a second view of a region failed", exc_info=error)
            return None


def decode_crop(image: bytes, limits: Limits) -> Pixels:
    """The pixels of one crop.

    Raises TierocrError `bad_image` (also for one that ends early), `too_large`,
    `unsupported_format`.
    """
    kind = sniff(image)
    if kind not in FORMATS:
        raise TierocrError("unsupported_format", f"a region is {', '.join(FORMATS)}, not {kind}")
    (page,) = decode_pages(image, limits=limits)  # these formats hold one picture each
    if isinstance(page, PageFailure):
        raise TierocrError(page.failure.code, page.failure.message)
    if TRUNCATED in page.warnings:
        raise TierocrError("bad_image", "the image ends early")
    return page.pixels


def _mean(answers: Answers) -> float:
    """Of the best answer, over its characters."""
    return max(a.reading.mean_probability for _, a in answers)


def _best(region_id: str, answers: Answers) -> Refined:
    readings: list[tuple[Way, Reading]] = [(w, w.place(a.reading)) for w, a in answers]
    way, reading = max(readings, key=lambda pair: pair[1].mean_probability)
    return refined_of(region_id, reading, way.size)
