"""The one harness that everything measured goes through.

Variants are timed interleaved (A B A B ...), after a warm-up, so that a slow minute of the machine
falls on all of them; speed is told as the ratio within pairs. Results are checked and written
atomically to `results/NAME.json`.

    seconds = interleave([ours, peer], rounds=20)
    result = build_result("latency", "...", start=begin(["openvino"]), variants=[...],
                          measures=[timing("ours", "receipts", seconds["ours"]), ...],
                          ratios=[ratio("ours", "peer", "receipts", seconds)])
    write_result(result)
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

from benchmarks.machine import Machine, fingerprint, revision
from benchmarks.schema import (
    SCHEMA,
    Measure,
    Ratio,
    Result,
    VariantRecord,
    Verdict,
    check_result,
)
from benchmarks.stats import median_interval, paired_ratios, quartiles

RESULTS = Path(__file__).resolve().parent / "results"

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One of the things compared.

    `run` does the work once. It returns the seconds where it timed itself (a peer in its own
    process), and None to be timed from the outside.
    """

    name: str
    run: Callable[[], float | None]
    versions: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is noted before a run: when, on what machine, and which revision is measured."""

    date: str
    revision: str
    machine: Machine


def begin(packages: Iterable[str] = ()) -> Start:
    """Note date, revision and machine; to be called first, as it takes the load average."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Start(date=now, revision=revision(), machine=fingerprint(packages))


def interleave(
    variants: Sequence[Variant],
    *,
    rounds: int,
    warm_up: int = 1,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each variant, one per round; a round runs every variant once, in order."""
    if len({variant.name for variant in variants}) != len(variants):
        raise ValueError("two variants have the same name")
    for _ in range(warm_up):
        for variant in variants:
            variant.run()
    seconds: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for _ in range(rounds):
        for variant in variants:
            started = clock()
            own = variant.run()
            elapsed = clock() - started
            seconds[variant.name].append(elapsed if own is None else own)
    return seconds


def timing(variant: str, case: str, seconds: Sequence[float]) -> Measure:
    """Median and quartiles of one variant's seconds."""
    found = quartiles(seconds)
    values = {
        "seconds_q1": found.q1,
        "seconds_median": found.median,
        "seconds_q3": found.q3,
        "rounds": float(found.n),
    }
    return Measure(variant=variant, case=case, values=values)


def ratio(
    of: str,
    to: str,
    case: str,
    samples: Mapping[str, Sequence[float]],
    *,
    quantity: str = "seconds",
) -> Ratio:
    """The median of `of` over `to` within pairs, with its 95 % interval; below 1 `of` is faster."""
    ratios = paired_ratios(samples[of], samples[to])
    interval = median_interval(ratios)
    return Ratio(
        of=of,
        to=to,
        case=case,
        quantity=quantity,
        median=quartiles(ratios).median,
        low=interval.low,
        high=interval.high,
        coverage=interval.coverage,
        pairs=len(ratios),
    )


def variant_record(
    name: str, start: Start, *, versions: Mapping[str, str], parameters: Mapping[str, Any]
) -> VariantRecord:
    """How a variant stands in a result."""
    return VariantRecord(
        name=name,
        versions=dict(versions),
        parameters=dict(parameters),
        date=start.date,
        revision=start.revision,
    )


def build_result(
    name: str,
    what: str,
    *,
    start: Start,
    variants: Sequence[VariantRecord],
    measures: Sequence[Measure],
    ratios: Sequence[Ratio] = (),
    verdicts: Sequence[Verdict] = (),
) -> Result:
    """A result in the common format, checked."""
    result = Result(
        schema=SCHEMA,
        name=name,
        what=what,
        date=start.date,
        revision=start.revision,
        machine=start.machine,
        variants=list(variants),
        measures=list(measures),
        ratios=list(ratios),
        verdicts=list(verdicts),
    )
    check_result(result)
    return result


def write_result(result: Result, path: Path | None = None) -> Path:
    """Write `result` to `path` (default `results/NAME.json`), whole or not at all."""
    check_result(result)
    path = path or RESULTS / f"{result['name']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)  # mkstemp's 0600 is for secrets, a result is to be read
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def read_result(path: Path) -> Result:
    """The result stored at `path`, checked."""
    result = cast(Result, json.loads(path.read_text(encoding="utf-8")))
    check_result(result)
    return result
