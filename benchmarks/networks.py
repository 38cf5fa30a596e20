"""How fast the edge's recogniser alone runs in each precision, and in which layers.

    python -m benchmarks.networks [--pack edge-tiny] [--rounds 40]

One batch of eight lines of 384 columns, as the product gives it to the engine (pixels in, the two
best classes of each column out), for each set of kernels that this processor has: those without
VNNI, those with VNNI but without bf16, and whatever there is. Each set in a process of its own, in
which the precisions take turns. `layers` are the mean milliseconds of each kind of layer. Run it
with nothing else on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
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
from tierocr.shared.engines import EngineOptions, open_engine, precisions_of
from tierocr.shared.engines.openvino import layer_seconds
from tierocr.shared.engines.processor import ISA_VARIABLE, gated_kernels
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.open import recogniser_network

SHAPE = (8, 48, 384, 3)
NATIVE = "native"
VNNI = "AVX512_CORE_VNNI"
WHAT = "Milliseconds of the recogniser on one batch of 8 x 48 x 384, by kernels and precision"

BARS = {(VNNI, "f32"): 1.8, (NATIVE, "bf16"): 1.2}
"""(kernels, precision) -> how many times as fast INT8 should be."""


def measure_here(pack: Pack, rounds: int) -> dict[str, Any]:
    """Seconds of each precision, and of the layers, with the kernels that this process may use;
    those for older processors have no bf16.
    """
    network = recogniser_network(pack.manifest.recogniser.facts(pack.charset()))
    batch = np.random.default_rng(1).integers(0, 256, SHAPE, dtype=np.uint8)
    runs: list[Variant] = []
    layers: dict[str, dict[str, float]] = {}
    able = precisions_of("openvino") - ({"bf16"} if ISA_VARIABLE in os.environ else set())
    for precision in (p for p in ("f32", "bf16", "int8") if p in able):
        model = pack.artefact("recogniser", "openvino", precision)
        options = EngineOptions(precision=precision, streams=1)
        engine = open_engine("openvino", model, network, options)

        def run(engine: Any = engine) -> None:
            for _ in engine.run([batch]):
                pass

        runs.append(Variant(name=precision, run=run))
        layers[precision] = layer_seconds(model, network, options, batch)
    return {"seconds": interleave(runs, rounds=rounds, warm_up=5), "layers": layers}


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
        for precision in found["seconds"]:
            if precision != "int8":
                gain = ratio(precision, "int8", kernels, found["seconds"])
                ratios.append(gain)
                verdicts += _judged(kernels, precision, gain["median"])
                print(f"{kernels:18s} int8 is {gain['median']:.2f} times as fast as {precision}")
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
    for precision, seconds in found["seconds"].items():
        measures.append(timing(precision, kernels, seconds))
        layers = {kind: round(1000 * t, 3) for kind, t in found["layers"][precision].items()}
        measures.append(Measure(variant=precision, case=f"{kernels}: layers", values=layers))
    return measures


def _judged(kernels: str, precision: str, gain: float) -> list[Verdict]:
    if (kernels, precision) not in BARS:
        return []
    limit = BARS[kernels, precision]
    return [
        Verdict(
            bar="INT8 times as fast at least",
            variant="int8",
            peer=precision,
            case=kernels,
            value=gain,
            limit=limit,
            passed=gain >= limit,
        )
    ]


if __name__ == "__main__":
    sys.exit(main())
