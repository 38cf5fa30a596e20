"""What INT8 costs on labelled pages: exact match of the shipped INT8 against FP32, by kernels.

    python -m benchmarks.quantised --data DIR [--pack edge-tiny]

Both precisions read the boxed sets whole, each with the kernels for processors without VNNI and
with those for VNNI, in processes of their own. INT8 may lose half a point over all labels and one
point on a set of over 300; smaller sets are reported. Predictions stay in the `--work` folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bars import BAR_SETS
from benchmarks.harness import begin, build_result, variant_record
from benchmarks.machine import ROOT
from benchmarks.options import conclude, parser_for, set_folders
from benchmarks.peers.predictions import image_paths
from benchmarks.readers import OUR_PACKAGES, read_timings, tierocr_documents
from benchmarks.schema import Measure, VariantRecord, Verdict
from benchmarks.score import score_set
from tierocr.shared.engines.processor import ISA_VARIABLE, gated_kernels

PRECISIONS = ("f32", "int8")
MOST_LOST, MOST_LOST_BY_SET, LARGE_SET = 0.5, 1.0, 300
ALL = "all labels"
WHAT = "Exact match of INT8 against FP32 on labelled pages, by kernels (benchmarks.score)"


def read_with(kernels: str, precision: str, pack: str, folders: Sequence[Path], work: Path) -> None:
    """Read all sets in a process that may use no more than `kernels`."""
    command = [sys.executable, "-m", "benchmarks.quantised", "--here", precision]
    command += ["--pack", pack, "--work", str(work.resolve())]
    command += ["--data", str(folders[0].parent.resolve())]
    subprocess.run(command, cwd=ROOT, env={**os.environ, ISA_VARIABLE: kernels}, check=True)


def judge(measures: Sequence[Measure]) -> list[Verdict]:
    """Points of exact match that INT8 loses, over all labels and on each large set."""
    found = {(m["variant"], m["case"]): m["values"] for m in measures}
    verdicts = []
    for (variant, case), values in found.items():
        precision, _, kernels = variant.partition(" ")
        reference = found.get((f"f32 {kernels}", case))
        if precision != "int8" or reference is None:
            continue
        if case != ALL and values["labels"] <= LARGE_SET:
            continue
        lost = 100 * (reference["exact"] - values["exact"]) / values["labels"]
        limit = MOST_LOST if case == ALL else MOST_LOST_BY_SET
        verdicts.append(
            Verdict(
                bar="points of exact match lost at most",
                variant=variant,
                peer=f"f32 {kernels}",
                case=case,
                value=lost,
                limit=limit,
                passed=lost <= limit,
            )
        )
    return verdicts


def _measures(variant: str, folders: Sequence[Path], place: Path) -> list[Measure]:
    measures = []
    for folder in folders:
        scores = score_set(folder, place / folder.name)
        kept = {key: float(scores[key]) for key in ("labels", "exact", "edits", "chars", "extra")}
        measures.append(Measure(variant=variant, case=folder.name, values=kept))
    sums = {key: sum(m["values"][key] for m in measures) for key in measures[0]["values"]}
    return [*measures, Measure(variant=variant, case=ALL, values=sums)]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("quantised", __doc__)
    parser.add_argument("--pack", default="edge-tiny")
    parser.add_argument("--here", choices=PRECISIONS, help="only read, in this process")
    options = parser.parse_args(argv)
    folders = set_folders(options.data, BAR_SETS)
    if options.here:
        for folder in folders:
            place = options.work / folder.name
            tierocr_documents(options.pack, image_paths(folder), place, precision=options.here)
        return 0
    start = begin(OUR_PACKAGES)
    variants: list[VariantRecord] = []
    measures: list[Measure] = []
    for kernels in gated_kernels()[0]:
        for precision in PRECISIONS:
            name = f"{precision} {kernels}"
            place = options.work / name.replace(" ", "_")
            read_with(kernels, precision, options.pack, folders, place)
            measures += _measures(name, folders, place)
            ran = read_timings(place / folders[0].name)
            variants.append(
                variant_record(name, start, versions=ran["versions"], parameters=ran["parameters"])
            )
    result = build_result(
        "quantised",
        WHAT,
        start=start,
        variants=variants,
        measures=measures,
        verdicts=judge(measures),
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
