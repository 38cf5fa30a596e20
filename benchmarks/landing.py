"""How long a page takes from its landing in a watched folder to its text in a folder of results.

    python -m benchmarks.landing [--pages 100]

A real `tierocr edge`, set as it comes, and beside it a process that only reads: the same
pages, turn by turn, a page landing once the last is done with. The agent may send, and nobody
answers: what is timed is the first text, provisional or final. Both processes rest while the other
one works. Run it with nothing else on the machine.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.harness import begin, build_result, ratio, timing, variant_record
from benchmarks.machine import ROOT
from benchmarks.options import conclude, parser_for
from benchmarks.readers import OUR_PACKAGES, TIEROCR
from benchmarks.schema import Measure, Verdict
from benchmarks.soak import mixed_pages
from benchmarks.stats import quartiles
from tierocr.edge.settings import WatchSettings
from tierocr.shared.heap import return_large_blocks
from tierocr.shared.ocr.tune import open_tuned
from tierocr.shared.reading import read_bytes

AGENT, BARE = "edge agent", "reading alone"
CASE = "pages of mixed sizes"
LONGER = 1.3
WARM_UP = 4
PATIENCE = 120.0
REST = 0.5
"""Seconds before a page is read alone: the agent, too, has things to do after its first text."""

WHAT = "Seconds from a page landing in a watched folder to its text in the folder of results"
_LOOK = 0.002
_READY = '"ready"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Seconds of one page through the agent and read alone; `alike`: whether the text is the same;
    `provisional`: whether the first text was.
    """

    agent: float
    bare: float
    alike: bool
    provisional: bool


class Agent:
    """A running `tierocr edge` over folders of its own."""

    def __init__(self, root: Path, process: subprocess.Popen[bytes]) -> None:
        """`root`: holds `in` and `out`."""
        self._inbox, self._out, self._process = root / "in", root / "out", process
        self._part = root / "part"

    def read(self, name: str, data: bytes) -> tuple[float, bytes, bool]:
        """Let a page land; seconds until its first text, the JSON, whether it is provisional."""
        self._part.write_bytes(data)
        places = [
            (self._out / f"{name}.provisional.json", True),
            (self._out / f"{name}.json", False),
        ]
        started = time.perf_counter()
        self._part.rename(self._inbox / name)
        while True:
            for place, provisional in places:
                if place.exists():
                    seconds = time.perf_counter() - started
                    return seconds, place.read_bytes(), provisional
            if self._process.poll() is not None or time.perf_counter() - started > PATIENCE:
                raise RuntimeError(f"the agent has not read {name}")
            time.sleep(_LOOK)


class Bare:
    """A process that reads the files that it is told, and nothing else."""

    def __init__(self, root: Path, process: subprocess.Popen[bytes]) -> None:
        """`root`: where a page lies while it is read."""
        self._file, self._process = root / "bare.png", process

    def read(self, data: bytes) -> tuple[float, list[str]]:
        """Seconds of reading, and the lines."""
        self._file.write_bytes(data)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{self._file}\n".encode())
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["seconds"], answer["lines"]


def lines_of(document: dict[str, Any]) -> list[str]:
    """Texts of a document in the format `json`."""
    return [line["text"] for page in document["pages"] for line in page["lines"]]


def read_alone(pack: str) -> None:
    """The work of the process that only reads."""
    return_large_blocks()
    reader = open_tuned(pack)
    for line in sys.stdin:
        data = Path(line.rstrip("\n")).read_bytes()
        started = time.perf_counter()
        document = read_bytes(data, "page", reader)
        seconds = time.perf_counter() - started
        lines = [found.text for page in document.pages for found in page.lines]
        print(json.dumps({"seconds": seconds, "lines": lines}), flush=True)


@contextmanager
def bare_process(root: Path, pack: str) -> Iterator[Bare]:
    """One that ends with the block."""
    command = [sys.executable, "-m", "benchmarks.landing", "--alone", pack]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Bare(root, process)  # leaving the block closes its input: it ends


@contextmanager
def agent_process(root: Path, pack: str, stable: float) -> Iterator[Agent]:
    """One that ends with the block."""
    for name in ("in", "out"):
        (root / name).mkdir()
    log = root / "log"
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen: whoever calls is refused
        port = nobody.getsockname()[1]
        config = root / "edge.yaml"
        config.write_text(yaml.safe_dump(settings_of(root, pack, stable, port)), encoding="utf-8")
        clean = {k: v for k, v in os.environ.items() if not _sets_the_agent(k)}
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*TIEROCR, "edge", "--config", str(config)], env=clean, stdout=file, stderr=file
            )
        try:
            began = time.monotonic()
            while _READY not in log.read_text(encoding="utf-8"):
                if process.poll() is not None or time.monotonic() - began > PATIENCE:
                    raise RuntimeError("the agent does not start: " + log.read_text()[-2000:])
                time.sleep(0.05)
            yield Agent(root, process)
        finally:
            process.terminate()
            process.wait()


def _sets_the_agent(name: str) -> bool:
    return name.startswith("TIEROCR_") and name not in ("TIEROCR_CACHE", "TIEROCR_DATA")


def settings_of(root: Path, pack: str, stable: float, port: int) -> dict[str, Any]:
    """The agent's settings; what is not here is as it comes."""
    return {
        "state": {"folder": str(root / "state")},
        "reading": {"pack": pack},
        "cloud": {"upload": True, "url": f"http://127.0.0.1:{port}"},
        "sources": {"watch": [{"folder": str(root / "in"), "stable_seconds": stable}]},
        "sinks": {"folder": [{"folder": str(root / "out"), "formats": ["json"]}]},
    }


def land(agent: Agent, bare: Bare, name: str, data: bytes, *, agent_first: bool) -> Landed:
    """One page through both."""
    if agent_first:
        seconds, found, provisional = agent.read(name, data)
    time.sleep(REST)
    alone, lines = bare.read(data)
    if not agent_first:
        seconds, found, provisional = agent.read(name, data)
    alike = lines_of(json.loads(found)) == lines
    return Landed(agent=seconds, bare=alone, alike=alike, provisional=provisional)


def measure(pack: str, pages: int, stable: float) -> list[Landed]:
    """So many pages, after some that do not count."""
    found = []
    with (
        tempfile.TemporaryDirectory() as folder,
        bare_process(Path(folder), pack) as bare,
        agent_process(Path(folder), pack, stable) as agent,
    ):
        for number, data in enumerate(mixed_pages(WARM_UP + pages)):
            name = f"page-{number:04d}.png"
            landed = land(agent, bare, name, data, agent_first=number % 2 == 0)
            if number >= WARM_UP:
                found.append(landed)
    return found


def judge(landed: Sequence[Landed], stable: float) -> Verdict:
    """The bar."""
    value = quartiles([page.agent for page in landed]).median
    limit = stable + LONGER * quartiles([page.bare for page in landed]).median
    return Verdict(
        bar="seconds to the first text, median at most",
        variant=AGENT,
        peer=BARE,
        case=CASE,
        value=value,
        limit=limit,
        passed=value <= limit,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("landing", __doc__)
    parser.add_argument("--pack", default="edge-tiny")
    parser.add_argument("--pages", type=int, default=100)
    stable = WatchSettings.model_fields["stable_seconds"].default
    parser.add_argument("--stable", type=float, default=stable, help="stable_seconds of the agent")
    parser.add_argument("--alone", metavar="PACK", help="be the process that only reads")
    options = parser.parse_args(argv)
    if options.alone:
        read_alone(options.alone)
        return 0
    start = begin(OUR_PACKAGES)
    landed = measure(options.pack, options.pages, options.stable)
    samples = {
        AGENT: [page.agent - options.stable for page in landed],
        BARE: [page.bare for page in landed],
    }
    counts = {
        "pages": float(len(landed)),
        "pages_read_alike": float(sum(page.alike for page in landed)),
        "pages_provisional": float(sum(page.provisional for page in landed)),
        "stable_seconds": options.stable,
    }
    parameters = {"pack": options.pack, "pages": options.pages, "stable_seconds": options.stable}
    result = build_result(
        "landing",
        WHAT,
        start=start,
        variants=[
            variant_record(name, start, versions={}, parameters=parameters) for name in samples
        ],
        measures=[
            timing(AGENT, CASE, [page.agent for page in landed]),
            timing(BARE, CASE, samples[BARE]),
            Measure(variant=AGENT, case="what was read", values=counts),
        ],
        ratios=[ratio(AGENT, BARE, CASE, samples, quantity="seconds less the stability delay")],
        verdicts=[judge(landed, options.stable)],
    )
    for name, values in ((m["variant"], m["values"]) for m in result["measures"]):
        print(name, ", ".join(f"{key} {value:.3f}" for key, value in values.items()))
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
