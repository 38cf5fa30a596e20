"""Load for a service: invented lines, requests made of them, clients that send them.

What the benchmarks of the cloud have in common. All crops of one call differ, so that nothing is
shared or kept; a client sends its next request as soon as the last is answered (a closed loop).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import aiohttp
import cv2
import numpy as np
import psutil

from tierocr.shared.document import Pixels
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    Refined,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_request,
    unpack_reply,
)

W = TypeVar("W")
R = TypeVar("R")


def drawn(text: str, height: int = 40) -> Pixels:
    """A line of print, (height, w, 3) uint8."""
    scale = height / 40
    shape = (height, round(scale * (18 * len(text) + 30)), 3)
    crop, at = np.full(shape, 255, dtype=np.uint8), (round(12 * scale), round(28 * scale))
    thick = max(1, round(2 * scale))
    cv2.putText(
        crop, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.8 * scale, (0, 0, 0), thick, cv2.LINE_AA
    )
    return crop


def png(pixels: Pixels) -> bytes:
    """The picture as a file."""
    return cv2.imencode(".png", pixels)[1].tobytes()


def numbers(count: int, lengths: Sequence[int] = (8, 12, 18), seed: int = 7) -> list[str]:
    """Invented numbers, each of one of those lengths (at least 4); all of them differ."""
    rng = random.Random(seed)
    return [
        f"{k:04d}" + "".join(rng.choices("0123456789", k=rng.choice(lengths) - 4))
        for k in range(count)
    ]


def request(images: Sequence[bytes], name: str = "r") -> bytes:
    """One refinement of these PNG files."""
    regions = tuple(
        RegionImage(id=str(k), image=image, format="png") for k, image in enumerate(images)
    )
    page = PageRef(id=name, width=1000, height=1000)
    return pack_request(RefineRequest(request_id=name, device="load", page=page, regions=regions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: `seconds` after it was sent; `results` with status 200 only. `status` 0: the
    connection broke.
    """

    status: int
    seconds: float
    retry_after: str | None = None
    results: tuple[Refined, ...] = ()

    @property
    def good(self) -> bool:
        """Whether everything asked for was read."""
        return self.status == 200 and not any(result.error for result in self.results)


async def refine(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes,
    *,
    deadline: float | None = None,
    key: str | None = None,
) -> Answer:
    """Send a refinement. `deadline` in seconds; `key`: an Idempotency-Key."""
    headers = {"Content-Type": CONTENT_TYPE}
    if deadline is not None:
        headers["X-Deadline-Ms"] = str(int(1000 * deadline))
    if key is not None:
        headers["Idempotency-Key"] = key
    started = time.perf_counter()
    try:
        async with session.post(f"{url}/v1/refine", data=body, headers=headers) as response:
            content = await response.read()
            seconds = time.perf_counter() - started
            good = response.status == 200
            return Answer(
                status=response.status,
                seconds=seconds,
                retry_after=response.headers.get("Retry-After"),
                results=unpack_reply(content, WireLimits()).results if good else (),
            )
    except aiohttp.ClientError:
        return Answer(status=0, seconds=time.perf_counter() - started)


@asynccontextmanager
async def many_connections() -> AsyncIterator[aiohttp.ClientSession]:
    """A client without a bound of its own."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def closed_loop(
    work: Sequence[W], ask: Callable[[W], Awaitable[R]], clients: int
) -> tuple[float, list[R]]:
    """So many clients share the work: seconds in all, and the answers in its order."""
    waiting = iter(enumerate(work))
    answers: dict[int, R] = {}

    async def client() -> None:
        for number, item in waiting:
            answers[number] = await ask(item)

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - started, [answers[k] for k in range(len(work))]


def late(seconds: Sequence[float]) -> float:
    """The 99th percentile."""
    return sorted(seconds)[int(0.99 * (len(seconds) - 1))]


def service_process() -> psutil.Process:
    """The service that this process has started."""
    return next(p for p in psutil.Process().children() if "tierocr.cloud" in p.cmdline())
