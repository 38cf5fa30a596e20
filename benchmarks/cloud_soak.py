"""Whether the cloud's memory grows over many requests of mixed sizes.

    python -m benchmarks.cloud_soak [--requests 10000] [--pack edge-tiny]

A real service on loopback and some clients, each with its next request as soon as the last is
answered: refinements of one to eight lines of many sizes, whole pages, bodies that are refused,
requests that are sent twice under one key. Resident memory of the service and its decoder
processes after each hundred requests, its slope over the second half by least squares.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

import aiohttp
import numpy as np
import psutil

from benchmarks.harness import begin, build_result, variant_record
from benchmarks.load import (
    Answer,
    closed_loop,
    drawn,
    many_connections,
    numbers,
    png,
    refine,
    request,
    service_process,
)
from benchmarks.options import conclude, parser_for
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Verdict
from benchmarks.soak import slope
from tierocr.edge.demo import local_cloud

CLIENTS, EVERY, DEADLINE = 6, 100, 60.0
GROWN_BYTES = 20e6
CASE = "requests of mixed sizes"
WHAT = "Resident memory of the cloud over many requests of mixed sizes"


async def one(session: aiohttp.ClientSession, url: str, number: int) -> str:
    """One request, another for each number; what became of it."""
    rng = random.Random(number)
    lines = numbers(rng.randint(1, 8), range(4, 40), seed=number)
    if number % 25 == 7:
        return await _page(session, url, lines)
    images = [png(drawn(line, rng.randint(16, 64))) for line in lines]
    body = request(images, f"r{number}")
    if number % 40 == 11:
        answer = await _refined(session, url, body[: len(body) // 2])
        return "refused" if answer.status == 400 else f"status {answer.status}"
    key = f"key-{number}" if number % 10 == 3 else None
    answer = await _refined(session, url, body, key)
    if key is not None and answer.good:
        again = await _refined(session, url, body, key)
        if again.results != answer.results:
            return "another answer to the same key"
    return "read" if answer.good else f"status {answer.status}"


async def _refined(
    session: aiohttp.ClientSession, url: str, body: bytes, key: str | None = None
) -> Answer:
    """The answer; who is turned away comes again when told to."""
    while True:
        answer = await refine(session, url, body, deadline=DEADLINE, key=key)
        if answer.status != 503 or answer.retry_after is None:
            return answer
        await asyncio.sleep(float(answer.retry_after))


async def _page(session: aiohttp.ClientSession, url: str, lines: Sequence[str]) -> str:
    crops = [np.pad(drawn(line, 30), ((10, 10), (20, 0), (0, 0)), "edge") for line in lines]
    width = max(crop.shape[1] for crop in crops)
    rows = [np.pad(c, ((0, 0), (0, width - c.shape[1]), (0, 0)), "edge") for c in crops]
    async with session.post(f"{url}/v1/ocr?format=text", data=png(np.concatenate(rows))) as answer:
        await answer.read()
        return "read" if answer.status == 200 else f"status {answer.status}"


async def run(pack: str, count: int) -> tuple[Counter[str], list[int]]:
    """What became of the requests, and resident bytes after each hundred."""
    resident: list[int] = []
    os.environ["TIEROCR_LIMITS__FILES"] = str(CLIENTS)  # each may send a page at the same time
    async with local_cloud(pack) as url, many_connections() as session:
        service, done = service_process(), 0

        async def ask(number: int) -> str:
            nonlocal done
            outcome = await one(session, url, number)
            done += 1
            if done % EVERY == 0:
                resident.append(_resident(service))
            if done % 1000 == 0:
                print(f"{done} requests: {resident[-1] / 1e6:.0f} MB", flush=True)
            return outcome

        _, outcomes = await closed_loop(range(count), ask, CLIENTS)
    return Counter(outcomes), resident


def _resident(service: psutil.Process) -> int:
    """Of the service and its decoders, which may end while we look."""
    total = 0
    for process in (service, *service.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("cloud_soak", __doc__)
    parser.add_argument("--pack", default="edge-tiny")
    parser.add_argument("--requests", type=int, default=10_000)
    options = parser.parse_args(argv)
    start = begin(OUR_PACKAGES)
    started = time.perf_counter()
    outcomes, resident = asyncio.run(run(options.pack, options.requests))
    half = resident[len(resident) // 2 :]
    grown = slope(half) * len(half) if len(half) > 1 else 0.0
    wrong = options.requests - outcomes["read"] - outcomes["refused"]
    for outcome, number in outcomes.most_common():
        print(f"{number:6d} {outcome}")
    values = {
        "requests": float(options.requests),
        "requests_wrong": float(wrong),
        "seconds": time.perf_counter() - started,
        "resident_bytes_half": float(half[0]) if half else 0.0,
        "resident_bytes_end": float(half[-1]) if half else 0.0,
        "grown_bytes_second_half": grown,
    }
    bars = [
        ("bytes grown over the second half at most, by slope", grown, GROWN_BYTES),
        ("requests answered otherwise than they should be", float(wrong), 0.0),
    ]
    result = build_result(
        "cloud_soak",
        WHAT,
        start=start,
        variants=[variant_record("cloud", start, versions={}, parameters={"pack": options.pack})],
        measures=[Measure(variant="cloud", case=CASE, values=values)],
        verdicts=[
            Verdict(
                bar=bar,
                variant="cloud",
                peer="",
                case=CASE,
                value=value,
                limit=limit,
                passed=value <= limit,
            )
            for bar, value, limit in bars
        ],
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
