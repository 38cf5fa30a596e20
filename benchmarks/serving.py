"""Lines a second of the cloud with its batching, line by line, and of mosec with the same model.

    python -m benchmarks.serving --peers ENVIRONMENTS [--pack NAME] [--clients 32] [--rounds 3]

Each service in turn on loopback, the same crops, as many clients as given, each with its next crop
as soon as the last is answered; all crops differ, so nothing is shared or kept. The services take
turns for some rounds. Load and services share the machine; run it with nothing else on it. The
peer's environment needs our package too:

    python -m venv ENVIRONMENTS/mosec
    ENVIRONMENTS/mosec/bin/pip install -r benchmarks/peers/requirements-mosec.txt .
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import aiohttp
import msgpack

from benchmarks.harness import begin, build_result, ratio, variant_record
from benchmarks.load import (
    closed_loop,
    drawn,
    late,
    many_connections,
    numbers,
    png,
    refine,
    request,
)
from benchmarks.machine import ROOT
from benchmarks.options import conclude, parser_for
from benchmarks.peers.environments import interpreter, pins
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Ratio, Verdict
from benchmarks.stats import quartiles
from tierocr.edge.demo import local_cloud

BATCHED, SINGLE, PEER = "tierocr, batches of 8", "tierocr, line by line", "mosec"
MAX_BATCH, MAX_WAIT_MS = 8, 50
CASE = "lines"
WHAT = "Lines a second and latency of a service with and without batching, and of mosec"

Ask = Callable[[aiohttp.ClientSession, bytes], Awaitable[str]]
Start = Callable[[], "contextlib.AbstractAsyncContextManager[Ask]"]


def crops(count: int) -> list[tuple[str, bytes]]:
    """Invented numbers of a few widths, each with its PNG; all of them differ."""
    return [(text, png(drawn(text))) for text in numbers(count)]


@contextlib.asynccontextmanager
async def ours(pack: str, max_batch: int) -> AsyncIterator[Ask]:
    """Our service."""
    os.environ["TIEROCR_BATCHING__MAX_BATCH"] = str(max_batch)
    os.environ["TIEROCR_BATCHING__MAX_WAIT_MS"] = str(MAX_WAIT_MS)
    async with local_cloud(pack) as url:

        async def ask(session: aiohttp.ClientSession, image: bytes) -> str:
            answer = await refine(session, url, request([image]))
            if not answer.good:
                raise RuntimeError(f"a request was answered with {answer.status}")
            return answer.results[0].text

        yield ask


@contextlib.asynccontextmanager
async def mosec(pack: str, python: Path) -> AsyncIterator[Ask]:
    """The same recogniser behind mosec."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(python), "-m", "benchmarks.peers.run_mosec", "--port", str(port)]
    command += ["--max-batch", str(MAX_BATCH), "--max-wait-ms", str(MAX_WAIT_MS), "--pack", pack]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=quiet, stderr=quiet, start_new_session=True
    )
    url = f"http://127.0.0.1:{port}/inference"

    async def ask(session: aiohttp.ClientSession, image: bytes) -> str:
        async with session.post(url, data=msgpack.packb({"image": image})) as response:
            response.raise_for_status()
            return str(msgpack.unpackb(await response.read())["text"])

    try:
        await _answering(ask)
        yield ask
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await process.wait()


async def _answering(ask: Ask) -> None:
    _, image = crops(1)[0]
    async with aiohttp.ClientSession() as session:
        for _ in range(300):
            with contextlib.suppress(aiohttp.ClientError):
                await ask(session, image)
                return
            await asyncio.sleep(0.2)
    raise RuntimeError("mosec does not answer")


async def load(
    ask: Ask, work: Sequence[tuple[str, bytes]], clients: int
) -> tuple[float, list[float], list[str]]:
    """Read all crops; seconds in all, seconds of each answer, the texts in order."""
    async with many_connections() as session:

        async def one(item: tuple[str, bytes]) -> tuple[float, str]:
            started = time.perf_counter()
            text = await ask(session, item[1])
            return time.perf_counter() - started, text

        total, answers = await closed_loop(work, one, clients)
    return total, [seconds for seconds, _ in answers], [text for _, text in answers]


async def measure(
    services: dict[str, Start], clients: int, rounds: int, lines: int
) -> tuple[list[Measure], list[Ratio], list[Verdict]]:
    """The services in turns."""
    work = crops(lines)
    samples: dict[str, list[float]] = {name: [] for name in services}
    p99: dict[str, list[float]] = {name: [] for name in services}
    read: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, start in services.items():
            async with start() as ask:
                await load(ask, work[: 4 * clients], clients)  # every shape once
                seconds, each, read[name] = await load(ask, work, clients)
            samples[name].append(seconds)
            p99[name].append(late(each))
            print(f"{name:24s} {lines / seconds:7.1f} lines/s  p99 {p99[name][-1]:.3f} s")
    measures = [
        Measure(
            variant=name,
            case=CASE,
            values={
                "lines_per_second_median": lines / quartiles(seconds).median,
                "seconds_p99_median": quartiles(p99[name]).median,
                "exact": float(sum(a == b for a, (b, _) in zip(read[name], work, strict=True))),
                "differ_from_line_by_line": float(
                    sum(a != b for a, b in zip(read[name], read[SINGLE], strict=True))
                ),
            },
        )
        for name, seconds in samples.items()
    ]
    ratios = [ratio(name, BATCHED, CASE, samples) for name in services if name != BATCHED]
    return measures, ratios, _verdicts(measures, ratios)


def _verdicts(measures: Sequence[Measure], ratios: Sequence[Ratio]) -> list[Verdict]:
    values = {measure["variant"]: measure["values"] for measure in measures}
    found = [
        ("texts that differ from line by line", values[BATCHED]["differ_from_line_by_line"], 0.0)
    ]
    if PEER in values:
        against = next(r["median"] for r in ratios if r["of"] == PEER)
        found += [
            ("the peer's time to read all, over ours, at least (as its inverse)", 1 / against, 1.0),
            (
                "p99 at most the peer's, in seconds",
                values[BATCHED]["seconds_p99_median"],
                values[PEER]["seconds_p99_median"],
            ),
        ]
    return [
        Verdict(
            bar=bar,
            variant=BATCHED,
            peer=PEER,
            case=CASE,
            value=value,
            limit=limit,
            passed=value <= limit,
        )
        for bar, value, limit in found
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("serving", __doc__)
    parser.add_argument("--peers", type=Path, required=True, help="the peers' environments")
    parser.add_argument("--pack", default="cloud-small", help="what the service reads with")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=600)
    options = parser.parse_args(argv)
    start = begin(OUR_PACKAGES)
    python = interpreter(options.peers, "mosec")
    services: dict[str, Start] = {
        BATCHED: lambda: ours(options.pack, MAX_BATCH),
        SINGLE: lambda: ours(options.pack, 1),
        PEER: lambda: mosec(options.pack, python),
    }
    measures, ratios, verdicts = asyncio.run(
        measure(services, options.clients, options.rounds, options.lines)
    )
    parameters = {"pack": options.pack, "clients": options.clients, "lines": options.lines}
    variants = [
        variant_record(
            name,
            start,
            versions=pins("mosec") if name == PEER else {},
            parameters={**parameters, "max_batch": 1 if name == SINGLE else MAX_BATCH},
        )
        for name in services
    ]
    result = build_result(
        "serving",
        WHAT,
        start=start,
        variants=variants,
        measures=measures,
        ratios=ratios,
        verdicts=verdicts,
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
