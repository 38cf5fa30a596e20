"""How fast the edge's recogniser alone runs in each precision, and in which layers.

    python -m benchmarks.networks [--pack edge-tiny] [--rounds 40]

Batches of eight lines of 384 columns, pixels in, the two best classes of each column out, on an
engine as the product opens it (a stream for each core). `calls`: in the calls that the product
makes of such a batch; `batch`: in one call. For each set of kernels that this processor has: those
without VNNI, those with VNNI but without bf16, and whatever there is. Each set in a process of its
own, in which the precisions take turns. `layers` are the mean milliseconds of each kind of layer in
one call of one core. Run it with nothing else on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

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
from benchmarks.options import conclude, parser_for
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Ratio, Verdict
from tierocr.shared.document import Pixels
from tierocr.shared.engines import Engine, EngineOptions, precisions_of
from tierocr.shared.engines.openvino import layer_seconds
from tierocr.shared.engines.processor import ISA_VARIABLE, gated_kernels
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.open import open_recogniser, recogniser_network
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.recognition import BatchRules, batches
from tierocr.shared.tuning import VNNI

LINES, HEIGHT, WIDTH = 8, 48, 384
BATCHES = 8
"""One after the other in each round, so that beginning and end of a run count little."""

NATIVE = "native"
CALLS, BATCH = "calls", "batch"
RULES = {CALLS: BatchRules(), BATCH: BatchRules(max_columns=LINES * WIDTH)}
"""What may go into one call: as the product has it, and everything."""

WHAT = "Seconds of the recogniser for a batch of 8 x 48 x 384, by kernels and precision"

BARS = {(VNNI, "f32"): 1.8, (NATIVE, "bf16"): 1.2}
"""(kernels, precision) -> how many times as fast INT8 should be."""


def measure_here(pack: Pack, rounds: int) -> dict[str, Any]:
    """Seconds of each precision, and of the layers, with the kernels that this process may use;
    those for older processors have no bf16.
    """
    network = recogniser_network(pack.manifest.recogniser.facts(pack.charset()))
    shape = (LINES, HEIGHT, WIDTH, 3)
    batch = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    able = precisions_of("openvino") - ({"bf16"} if ISA_VARIABLE in os.environ else set())
    recognisers: dict[str, Recogniser] = {}
    layers: dict[str, dict[str, float]] = {}
    for precision in (p for p in ("f32", "bf16", "int8") if p in able):
        options = EngineOptions(precision=precision)
        recognisers[precision] = open_recogniser(pack, "openvino", options)
        model = pack.artefact("recogniser", "openvino", precision)
        call = _calls(batch, RULES[CALLS])[0]
        layers[precision] = layer_seconds(model, network, replace(options, threads=1), call)
    seconds = {}
    for case, rules in RULES.items():
        runs = [
            Variant(name=precision, run=_run(recogniser.engine, _calls(batch, rules)))
            for precision, recogniser in recognisers.items()
        ]
        seconds[case] = interleave(runs, rounds=rounds, warm_up=3)
    return {"seconds": seconds, "layers": layers}


def _calls(batch: Pixels, rules: BatchRules) -> list[Pixels]:
    """What the product makes of a batch."""
    return [batch[group] for group in batches([batch.shape[2]] * len(batch), rules)]


def _run(engine: Engine, calls: Sequence[Pixels]) -> Callable[[], float]:
    """Seconds for one batch, of several."""

    def run() -> float:
        before = time.perf_counter()
        for _ in engine.run(call for _ in range(BATCHES) for call in calls):
            pass
        return (time.perf_counter() - before) / BATCHES

    return run


def measure_with(kernels: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The same in a process that may use no more than `kernels`."""
    environment = {k: v for k, v in os.environ.items() if k != ISA_VARIABLE}
    if kernels != NATIVE:
        environment[ISA_VARIABLE] = kernels
    command = [sys.executable, "-m", "benchmarks.networks", "--here", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("networks", __doc__)
    parser.add_argument("--pack", default="edge-tiny")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--here", action="store_true", help="print what this process measures")
    options = parser.parse_args(argv)
    if options.here:
        print(json.dumps(measure_here(find_pack(options.pack), options.rounds)))
        return 0
    start = begin(OUR_PACKAGES)
    measures: list[Measure] = []
    ratios: list[Ratio] = []
    verdicts: list[Verdict] = []
    for kernels in (*gated_kernels()[0], NATIVE):
        found = measure_with(kernels, ["--pack", options.pack, "--rounds", str(options.rounds)])
        measures += _measures(kernels, found)
        for case, seconds in found["seconds"].items():
            for precision in (name for name in seconds if name != "int8"):
                gain = ratio(precision, "int8", f"{kernels}: {case}", seconds)
                ratios.append(gain)
                verdicts += _judged(kernels, case, precision, gain["median"])
                text = f"{kernels:18s} {case}: int8 is {gain['median']:.2f} times as fast"
                print(f"{text} as {precision}")
    names = dict.fromkeys(measure["variant"] for measure in measures)
    result = build_result(
        "networks",
        WHAT,
        start=start,
        variants=[variant_record(n, start, versions={}, parameters={}) for n in names],
        measures=measures,
        ratios=ratios,
        verdicts=verdicts,
    )
    return conclude(result, options.out)


def _measures(kernels: str, found: dict[str, Any]) -> list[Measure]:
    measures = []
    for case, samples in found["seconds"].items():
        for precision, seconds in samples.items():
            measures.append(timing(precision, f"{kernels}: {case}", seconds))
    for precision, spent in found["layers"].items():
        layers = {kind: round(1000 * t, 3) for kind, t in spent.items()}
        measures.append(Measure(variant=precision, case=f"{kernels}: layers", values=layers))
    return measures


def _judged(kernels: str, case: str, precision: str, gain: float) -> list[Verdict]:
    if (kernels, precision) not in BARS:
        return []
    limit = BARS[kernels, precision]
    return [
        Verdict(
            bar="INT8 times as fast at least",
            variant="int8",
            peer=precision,
            case=f"{kernels}: {case}",
            value=gain,
            limit=limit,
            passed=gain >= limit,
        )
    ]


if __name__ == "__main__":
    sys.exit(main())
