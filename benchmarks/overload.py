"""What the cloud does under twice the load that it can carry.

    python -m benchmarks.overload [--pack edge-tiny] [--seconds 60]

A real service on loopback. First its capacity: so many clients, each with its next request as soon
as the last is answered. Then an open loop: requests come at random (exponential gaps) at twice that
rate whatever becomes of them. Then silence, and one request at a time until they are answered as
fast as before. Load and service share the machine; run it with nothing else on it.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

from benchmarks.harness import begin, build_result, variant_record
from benchmarks.load import (
    drawn,
    late,
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
from benchmarks.stats import quartiles
from tierocr.edge.demo import local_cloud

DEADLINE = 10.0
REGIONS = 4
BODIES = 2048
CLIENTS, CAPACITY_SECONDS = 8, 10.0
REFUSED = (503, 504)
GOODPUT, RECOVERY_SECONDS, GROWTH_BYTES = 0.9, 5.0, 50e6
WHAT = "The cloud under twice its measured capacity: what is answered, refused, and afterwards"


@dataclass(slots=True)
class Tally:
    """What became of the requests: seconds of the answered ones and when they were answered, counts
    of the others.
    """

    answered: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    without_retry_after: int = 0
    broken: int = 0


def bodies_of(count: int) -> list[bytes]:
    """So many requests of some lines each; all of them differ."""
    lines = [png(drawn(text)) for text in numbers(count * REGIONS, range(6, 19))]
    return [request(lines[k * REGIONS : (k + 1) * REGIONS], f"r{k}") for k in range(count)]


async def ask(session: aiohttp.ClientSession, url: str, body: bytes, tally: Tally) -> float:
    """Send one request and count what becomes of it; its seconds."""
    answer = await refine(session, url, body, deadline=DEADLINE)
    if answer.good:
        tally.answered.append(answer.seconds)
        tally.at.append(time.perf_counter())
    elif answer.status in (0, 200):
        tally.broken += 1
    else:
        tally.refused[answer.status] += 1
        tally.without_retry_after += answer.retry_after is None
    return answer.seconds


async def capacity(session: aiohttp.ClientSession, url: str, bodies: Sequence[bytes]) -> float:
    """Requests a second that are answered when each client waits for its answers."""
    tally, end = Tally(), time.perf_counter() + CAPACITY_SECONDS

    async def client(number: int) -> None:
        turn = number
        while time.perf_counter() < end:
            await ask(session, url, bodies[turn % len(bodies)], tally)
            turn += CLIENTS

    await asyncio.gather(*(client(k) for k in range(CLIENTS)))
    return sum(at <= end for at in tally.at) / CAPACITY_SECONDS


async def flood(
    session: aiohttp.ClientSession, url: str, bodies: Sequence[bytes], rate: float, seconds: float
) -> tuple[Tally, float, list[int]]:
    """An open loop of `rate` requests a second: what became of them, answers a second while it
    lasted, the service's resident bytes once a second.
    """
    tally, rng, resident = Tally(), random.Random(7), []
    service = service_process()
    tasks: set[asyncio.Task[float]] = set()
    started = at = time.perf_counter()
    number, look = 0, started
    while at < started + seconds:
        at += rng.expovariate(rate)
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        task = asyncio.create_task(ask(session, url, bodies[number % len(bodies)], tally))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
        if time.perf_counter() >= look:
            resident.append(service.memory_info().rss)
            look += 1
    await asyncio.gather(*tasks)
    return tally, sum(at <= started + seconds for at in tally.at) / seconds, resident


async def recovery(
    session: aiohttp.ClientSession, url: str, bodies: Sequence[bytes], usual: float
) -> float:
    """Seconds until a single request is answered within twice the usual time again."""
    started = time.perf_counter()
    while True:
        tally = Tally()
        seconds = await ask(session, url, bodies[0], tally)
        if tally.answered and seconds < 2 * usual:
            return time.perf_counter() - started
        await asyncio.sleep(0.2)


async def measure(pack: str, seconds: float) -> dict[str, float]:
    """One run of everything."""
    bodies = bodies_of(BODIES)
    async with local_cloud(pack) as url, many_connections() as session:
        quiet = Tally()
        for body in bodies[:12]:
            await ask(session, url, body, quiet)
        usual = quartiles(quiet.answered[2:]).median
        most = await capacity(session, url, bodies)
        tally, goodput, resident = await flood(session, url, bodies, 2 * most, seconds)
        back = await recovery(session, url, bodies, usual)
    half = resident[len(resident) // 2 :]
    others = sum(n for status, n in tally.refused.items() if status not in REFUSED)
    return {
        "seconds_alone_median": usual,
        "requests_per_second_capacity": most,
        "requests_per_second_offered": 2 * most,
        "requests_per_second_answered": goodput,
        "goodput": goodput / most,
        "seconds_answered_p99": late(tally.answered),
        "refused_503": float(tally.refused[503]),
        "refused_504": float(tally.refused[504]),
        "refused_otherwise": float(others + tally.broken),
        "without_retry_after": float(tally.without_retry_after),
        "grown_bytes": float(half[-1] - half[0]),
        "recovery_seconds": back,
    }


def judge(values: dict[str, float]) -> list[Verdict]:
    """The bars."""
    bars = [
        ("goodput at least, of capacity", values["goodput"], GOODPUT, True),
        ("seconds of answered requests, p99 at most", values["seconds_answered_p99"], DEADLINE, 0),
        ("requests refused otherwise than 503 or 504", values["refused_otherwise"], 0.0, 0),
        ("refusals without Retry-After", values["without_retry_after"], 0.0, 0),
        ("bytes grown over the second half at most", values["grown_bytes"], GROWTH_BYTES, 0),
        ("seconds to recover at most", values["recovery_seconds"], RECOVERY_SECONDS, 0),
    ]
    return [
        Verdict(
            bar=bar,
            variant="cloud",
            peer="",
            case="twice capacity",
            value=value,
            limit=limit,
            passed=value >= limit if least else value <= limit,
        )
        for bar, value, limit, least in bars
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("overload", __doc__)
    parser.add_argument("--pack", default="edge-tiny")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(argv)
    start = begin(OUR_PACKAGES)
    values = asyncio.run(measure(options.pack, options.seconds))
    for name, value in values.items():
        print(f"{name:35s} {value:.3f}")
    parameters = {"pack": options.pack, "seconds": options.seconds, "regions": REGIONS}
    result = build_result(
        "overload",
        WHAT,
        start=start,
        variants=[variant_record("cloud", start, versions={}, parameters=parameters)],
        measures=[Measure(variant="cloud", case="twice capacity", values=values)],
        verdicts=judge(values),
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
