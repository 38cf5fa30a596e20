"""How fast whole pages are read, against the peers: many pages, one page, and a cold start.

    python -m benchmarks.speed --data DIR --peers ENVIRONMENTS [--pages 12] [--rounds 3] [--vnni]

`many`: seconds for the first pages of a set in one go, files already loaded, ours with pages in
flight as `tierocr read` has them. `one`: each of these pages by itself. `start`: a fresh process
from its start to the text of one page, ours with compiled networks kept from an earlier start.
Variants take turns; ratios are within pairs. The machine is tuned first, as `tierocr doctor --tune`
does. `--vnni`: ours as on a processor with VNNI and without bf16, which is what INT8 is for (the
peers' ONNX Runtime uses what there is); kept as `speed_vnni`. Run it with nothing else on the
machine.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import (
    Variant,
    begin,
    build_result,
    interleave,
    ratio,
    timing,
    variant_record,
)
from benchmarks.machine import ROOT
from benchmarks.options import conclude, parser_for, set_folders
from benchmarks.peers.environments import interpreter, pins
from benchmarks.peers.predictions import image_paths
from benchmarks.peers.process import PeerProcess
from benchmarks.readers import OUR_PACKAGES, TIEROCR
from benchmarks.schema import Measure, Ratio, Verdict
from tierocr.edge.inputs import Input
from tierocr.edge.reading import read_inputs
from tierocr.edge.tiering import TieredReader
from tierocr.shared.engines.processor import ISA_VARIABLE, processor
from tierocr.shared.images import Limits
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.tune import open_tuned
from tierocr.shared.reading import read_file
from tierocr.shared.tuning import VNNI

SETS = ("funsd_test", "sroie_train", "xfund_zh_val")
OURS = "edge-tiny"
PEERS = {
    "rapidocr": ("rapidocr", ("run_rapidocr",), 8.0),
    "faster-paddle-tiny": ("faster-paddle", ("run_faster_paddle", "--model", "tiny"), 2.0),
}
"""Peer -> its package, its module with options, and how many times as fast ours should be."""

START_SECONDS, START_BYTES = 1.5, 350e6
WHAT = "Seconds to read whole pages: many at once, one by one, and from a cold start"

Peers = dict[str, PeerProcess]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one part of the run measured."""

    measures: list[Measure]
    ratios: list[Ratio]
    verdicts: list[Verdict]


def measure_many(reader: Reader, peers: Peers, pages: dict[str, list[Path]], rounds: int) -> Found:
    """All pages of each set in one go."""
    cases = {f"many:{name}": paths for name, paths in pages.items()}
    return _measure(cases, peers, rounds, lambda paths: asyncio.run(_read_many(reader, paths)))


def measure_one(reader: Reader, peers: Peers, pages: dict[str, list[Path]], rounds: int) -> Found:
    """Page after page, each finished before the next is begun."""

    def one_by_one(paths: Sequence[Path]) -> None:
        for path in paths:
            read_file(path, reader)

    return _measure({f"one:{n}": p for n, p in pages.items()}, peers, rounds, one_by_one)


def measure_start(page: Path, environments: Path, rounds: int) -> Found:
    """A fresh process each time, ours once before the first that counts."""
    ours = [*TIEROCR, "read", str(page)]
    package, (module, *options), _ = PEERS["rapidocr"]
    peer = [str(interpreter(environments, package)), "-m", f"benchmarks.peers.{module}"]
    memory: dict[str, list[float]] = {}

    def started(name: str, command: Sequence[str], said: str | None) -> Callable[[], float]:
        def run() -> float:
            seconds, peak = start_and_read(command, said)
            memory.setdefault(name, []).append(peak)
            return seconds

        return run

    samples = interleave(
        [
            Variant(name=OURS, run=started(OURS, ours, None)),
            Variant(
                name="rapidocr",
                run=started("rapidocr", [*peer, *options, "--serve"], f"{page.resolve()}\n"),
            ),
        ],
        rounds=rounds,
    )
    measures = [timing(name, "start", seconds) for name, seconds in samples.items()]
    for measure in measures:
        warm = memory[measure["variant"]][1:]  # the first start compiles the networks
        measure["values"]["peak_rss_bytes"] = max(warm)
    wall, peak = (measures[0]["values"][k] for k in ("seconds_median", "peak_rss_bytes"))
    return Found(
        measures=measures,
        ratios=[ratio("rapidocr", OURS, "start", samples)],
        verdicts=[
            _bar("cold start, seconds at most", "", "start", wall, START_SECONDS, most=True),
            _bar(
                "peak memory of a start, bytes at most", "", "start", peak, START_BYTES, most=True
            ),
        ],
    )


def start_and_read(command: Sequence[str], said: str | None) -> tuple[float, float]:
    """Seconds and peak resident bytes of a process that reads one page and ends."""
    before = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8"
    )
    assert process.stdin is not None
    if said:
        process.stdin.write(said)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return time.perf_counter() - before, 1024.0 * usage.ru_maxrss


async def _read_many(reader: Reader, paths: Sequence[Path]) -> None:
    tiered = TieredReader(reader)
    try:
        inputs = [Input(path=path, name=path.name) for path in paths]
        async for outcome in read_inputs(tiered, inputs, Limits()):
            if outcome.failed:
                raise RuntimeError(f"{outcome.source.name} could not be read")
    finally:
        tiered.close()


def _measure(
    cases: dict[str, list[Path]],
    peers: Peers,
    rounds: int,
    ours: Callable[[Sequence[Path]], None],
) -> Found:
    found = Found(measures=[], ratios=[], verdicts=[])
    for case, paths in cases.items():
        samples = interleave(_variants(paths, peers, ours), rounds=rounds)
        for name, seconds in samples.items():
            measure = timing(name, case, seconds)
            measure["values"]["pages"] = float(len(paths))
            found.measures.append(measure)
        for peer in peers:
            against = ratio(peer, OURS, case, samples)
            found.ratios.append(against)
            bar = f"times as fast at least ({case.partition(':')[0]})"
            found.verdicts.append(_bar(bar, peer, case, against["median"], PEERS[peer][2]))
    return found


def _variants(
    paths: Sequence[Path], peers: Peers, ours: Callable[[Sequence[Path]], None]
) -> list[Variant]:
    def by(peer: PeerProcess) -> Callable[[], float]:
        return lambda: sum(peer.seconds(path) for path in paths)

    return [
        Variant(name=OURS, run=lambda: ours(paths)),
        *(Variant(name=name, run=by(peer)) for name, peer in peers.items()),
    ]


def _bar(
    bar: str, peer: str, case: str, value: float, limit: float, *, most: bool = False
) -> Verdict:
    passed = value <= limit if most else value >= limit
    return Verdict(
        bar=bar, variant=OURS, peer=peer, case=case, value=value, limit=limit, passed=passed
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    vnni = "--vnni" in arguments
    if vnni and os.environ.get(ISA_VARIABLE) != VNNI:  # read when a process first compiles
        command = [sys.executable, "-m", "benchmarks.speed", *arguments]
        return subprocess.call(command, env={**os.environ, ISA_VARIABLE: VNNI})
    name = "speed_vnni" if vnni else "speed"
    parser = parser_for(name, __doc__)
    parser.add_argument("--vnni", action="store_true", help="no bf16 and no AMX")
    parser.add_argument("--peers", type=Path, required=True, help="the peers' environments")
    parser.add_argument("--pages", type=int, default=12, help="of each set")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    folders = set_folders(options.data, SETS)
    pages = {folder.name: image_paths(folder)[: options.pages] for folder in folders}
    if vnni and not processor().supports(VNNI):
        raise ValueError(f"{processor().name} has no VNNI")
    # in a process of its own: ours is to be as small as it can be when it starts others
    subprocess.run([*TIEROCR, "doctor", "--tune"], check=True, stdout=subprocess.DEVNULL)
    start = begin(OUR_PACKAGES)
    # first: a process begins with the peak memory of the one that it was forked from
    parts = [measure_start(pages[SETS[0]][0], options.peers, max(5, options.rounds))]
    reader = open_tuned(OURS)
    commands = {
        peer: [
            str(interpreter(options.peers, package)),
            "-m",
            f"benchmarks.peers.{module}",
            *chosen,
            "--serve",
        ]
        for peer, (package, (module, *chosen), _) in PEERS.items()
    }
    peers = {peer: PeerProcess(command) for peer, command in commands.items()}
    try:
        parts.append(measure_many(reader, peers, pages, options.rounds))
        parts.append(measure_one(reader, peers, pages, options.rounds))
    finally:
        for process in peers.values():
            process.__exit__(None, None, None)
    ours = {"precision": reader.info.precision, "runtime": reader.info.runtime}
    variants = [variant_record(OURS, start, versions={}, parameters=ours)]
    variants += [
        variant_record(peer, start, versions=pins(package), parameters={})
        for peer, (package, _, _) in PEERS.items()
    ]
    result = build_result(
        name,
        f"{WHAT}, without bf16 and AMX" if vnni else WHAT,
        start=start,
        variants=variants,
        measures=[m for part in parts for m in part.measures],
        ratios=[r for part in parts for r in part.ratios],
        verdicts=[v for part in parts for v in part.verdicts],
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
