"""What each step towards fast reading gains: everything on, against everything but that step.

    python -m benchmarks.steps --data DIR [--pages 8] [--rounds 5]

The same pages of each set, files already loaded, `edge-tiny` with its recogniser in INT8 and its
detector in FP32; variants take turns. A ratio of 1.2 for a step means that reading takes 1.2 times
as long without it. On a processor with AMX, where INT8 is not what runs, hold it to VNNI:
ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI. Run it with nothing else on the machine.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from benchmarks.options import conclude, parser_for, set_folders
from benchmarks.peers.predictions import image_paths
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Ratio
from tierocr.edge.tiering import TieredReader
from tierocr.shared.document import EngineInfo
from tierocr.shared.engines import EngineOptions, open_engine
from tierocr.shared.engines.processor import running_kernels
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.open import DETECTOR_SHAPES, detector_network, recogniser_network
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.reading import read_bytes
from tierocr.shared.recognition import BatchRules

SETS = ("funsd_test", "sroie_train", "xfund_zh_val")
ALL = "all steps"
WHAT = "Seconds to read pages with every step, and without one of them"

Pages = list[tuple[str, bytes]]


def make_reader(
    *,
    precision: str = "int8",
    kept_shapes: int = DETECTOR_SHAPES,
    streams: int | None = None,
    max_batch: int = 8,
    in_parts: bool = True,
) -> Reader:
    """`edge-tiny` with some of the steps undone. `precision`: the recogniser's. `in_parts`: whether
    the classes of a line are found a part of its columns at a time.
    """
    pack = find_pack("edge-tiny")
    detection = pack.manifest.detector.facts()
    recognition = pack.manifest.recogniser.facts(pack.charset())
    network = recogniser_network(recognition)
    options = EngineOptions()
    detector = open_engine(
        "openvino",
        pack.artefact("detector", "openvino", "f32"),
        detector_network(detection),
        replace(options, kept_shapes=kept_shapes),
    )
    recogniser = open_engine(
        "openvino",
        pack.artefact("recogniser", "openvino", precision),
        network if in_parts else replace(network, columns=1),
        replace(options, precision=precision, streams=cpu_quota() if streams is None else streams),
    )
    return Reader(
        Detector(detector, detection),
        Recogniser(recogniser, recognition, rules=BatchRules(max_batch=max_batch)),
        info=EngineInfo(pack=pack.name, precision=precision, runtime=detector.runtime),
    )


def variants(pages: Pages) -> list[Variant]:
    """Everything on, then one step less at a time."""
    whole = make_reader()
    undone = {
        "INT8": (make_reader(precision="f32"), side_by_side),
        "pages side by side": (whole, one_by_one),
        "detector shapes kept compiled": (make_reader(kept_shapes=1), side_by_side),
        "batches in streams": (make_reader(streams=1), side_by_side),
        "crops in batches": (make_reader(max_batch=1), side_by_side),
        "columns in parts": (make_reader(in_parts=False), side_by_side),
    }
    return [
        Variant(name=ALL, run=_run(side_by_side, whole, pages)),
        *(
            Variant(name=f"without: {step}", run=_run(how, reader, pages))
            for step, (reader, how) in undone.items()
        ),
    ]


def one_by_one(reader: Reader, pages: Pages) -> None:
    """Each page finished before the next is begun."""
    for name, data in pages:
        read_bytes(data, name, reader)


def side_by_side(reader: Reader, pages: Pages) -> None:
    """As `tierocr read` does it."""

    async def read() -> None:
        tiered = TieredReader(reader)
        try:
            await asyncio.gather(*(tiered.read(data, name) for name, data in pages))
        finally:
            tiered.close()

    asyncio.run(read())


def _run(how: Callable[[Reader, Pages], None], reader: Reader, pages: Pages) -> Callable[[], None]:
    return lambda: how(reader, pages)


def _loaded(folder: Path, count: int) -> Pages:
    return [(path.name, path.read_bytes()) for path in image_paths(folder)[:count]]


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("steps", __doc__)
    parser.add_argument("--pages", type=int, default=8, help="of each set")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    start = begin(OUR_PACKAGES)
    measures: list[Measure] = []
    ratios: list[Ratio] = []
    for folder in set_folders(options.data, SETS):
        compared = variants(_loaded(folder, options.pages))
        samples = interleave(compared, rounds=options.rounds)
        measures += [timing(name, folder.name, seconds) for name, seconds in samples.items()]
        ratios += [ratio(v.name, ALL, folder.name, samples) for v in compared[1:]]
    for found in ratios:
        print(f"{found['case']:14s} {found['of']:40s} {found['median']:.2f}")
    kernels = {"kernels": running_kernels() or "unknown"}
    names = dict.fromkeys(measure["variant"] for measure in measures)
    result = build_result(
        "steps",
        WHAT,
        start=start,
        variants=[variant_record(n, start, versions={}, parameters=kernels) for n in names],
        measures=measures,
        ratios=ratios,
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
