"""One region: bytes -> pixels -> readings -> answer.

Joins the stages: decoding in threads, recognition by the dispatcher, the answer here. A region's
failure is its own answer, never its neighbours'. Must not know about HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from tierocr.cloud.dispatch import Answer, Dispatcher
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.sharing import Sharing
from tierocr.cloud.ways import Way, inner_way, refined_of, ways_of
from tierocr.shared.document import Failure, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, sniff
from tierocr.shared.images.raster import TRUNCATED
from tierocr.shared.protocol import FORMATS, Refined, RegionImage
from tierocr.shared.recognition import Reading, RecogniserFacts

DOUBT_BELOW = 0.99
"""A line with a smaller mean character probability is read again without its margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds that a region spent in each stage."""

    queue_ms: float = 0.0
    decode_ms: float = 0.0
    infer_ms: float = 0.0
    post_ms: float = 0.0


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
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the stages. `limits` bound one crop."""
        self._dispatcher, self._decoders, self._metrics = dispatcher, decoders, metrics
        self._facts, self._limits, self._clock = facts, limits, clock
        self._sharing: Sharing[Answered] = Sharing()

    def use(self, facts: RecogniserFacts) -> None:
        """Prepare crops for another recogniser from now on."""
        self._facts = facts

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
            return Answered(refined=Refined(id=region.id, error=failure))

    async def _refine(self, region: RegionImage, deadline: float, owner: str) -> Answered:
        loop = asyncio.get_running_loop()
        decoded = await loop.run_in_executor(self._decoders, self._decode, region, deadline)
        crop, ways, decode_seconds = decoded
        self._metrics.stage("decode", decode_seconds)
        answers = await self._read_all(ways, deadline, owner)
        if _doubtful(answers) and (inner := inner_way(crop, region.margin, self._facts)):
            answers += await self._read_again(inner, deadline, owner)
        started = self._clock()
        refined = _best(region.id, answers)
        post_seconds = self._clock() - started
        self._metrics.stage("post", post_seconds)
        return Answered(
            refined=refined,
            timings=Timings(
                queue_ms=1000 * max(a.waited for _, a in answers),
                decode_ms=1000 * decode_seconds,
                infer_ms=1000 * max(a.ran for _, a in answers),
                post_ms=1000 * post_seconds,
            ),
        )

    def _decode(self, region: RegionImage, deadline: float) -> tuple[Pixels, list[Way], float]:
        """In a decoder's thread."""
        started = self._clock()
        if started >= deadline:
            raise TierocrError("deadline_exceeded", "not decoded before the deadline")
        crop = decode_crop(region.image, self._limits)
        ways = ways_of(crop, region.angle, self._facts)
        return crop, ways, self._clock() - started

    async def _read_all(
        self, ways: list[Way], deadline: float, owner: str
    ) -> list[tuple[Way, Answer]]:
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

    async def _read_again(self, way: Way, deadline: float, owner: str) -> list[tuple[Way, Answer]]:
        """A second view; what goes wrong with it does not matter, there is an answer already."""
        try:
            return await self._read_all([way], deadline, owner)
        except TierocrError:
            return []


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


def _doubtful(answers: list[tuple[Way, Answer]]) -> bool:
    return max(a.reading.mean_probability for _, a in answers) < DOUBT_BELOW


def _best(region_id: str, answers: list[tuple[Way, Answer]]) -> Refined:
    readings: list[tuple[Way, Reading]] = [(w, w.place(a.reading)) for w, a in answers]
    way, reading = max(readings, key=lambda pair: pair[1].mean_probability)
    return refined_of(region_id, reading, way.size)
