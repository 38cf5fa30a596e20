"""Whether memory grows while many pages of mixed sizes are read in one process.

    python -m benchmarks.soak [--pages 1000]

The bundled sample pages at random sizes, a quarter of them turned, read as `tierocr read` reads
them; resident memory after each page, its slope over the second half by least squares.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterator, Sequence

import cv2
import numpy as np
import psutil

from benchmarks.harness import begin, build_result, variant_record
from benchmarks.options import conclude, parser_for
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Verdict
from tierocr.edge.samples import sample_pages
from tierocr.edge.tiering import TieredReader
from tierocr.shared.document import PageImage, Pixels
from tierocr.shared.heap import return_large_blocks
from tierocr.shared.images import Limits, decode_pages
from tierocr.shared.ocr.tune import open_tuned

GROWN_BYTES = 10e6
CASE = "pages of mixed sizes"
WHAT = "Resident memory while many pages of mixed sizes are read in one process"


def mixed_pages(count: int) -> Iterator[bytes]:
    """Sample pages as PNG files, each at another size: sides of 300 to 2,600 pixels."""
    rng = random.Random(11)
    pages = [pixels for page in sample_pages() for pixels in _decoded(page.read_bytes())]
    for _ in range(count):
        pixels = rng.choice(pages)
        scale = rng.uniform(300, 2600) / max(pixels.shape)
        sized = cv2.resize(pixels, None, fx=scale, fy=scale * rng.uniform(0.9, 1.1))
        if rng.random() < 0.25:
            sized = np.rot90(sized)
        yield cv2.imencode(".png", np.ascontiguousarray(sized))[1].tobytes()


def _decoded(data: bytes) -> list[Pixels]:
    pages = decode_pages(data, limits=Limits())
    return [page.pixels for page in pages if isinstance(page, PageImage)]


async def read(count: int) -> list[int]:
    """Resident bytes after each page."""
    tiered = TieredReader(open_tuned("edge-tiny"))
    process, resident = psutil.Process(), []
    try:
        for number, data in enumerate(mixed_pages(count)):
            await tiered.read(data, f"page {number}")
            resident.append(int(process.memory_info().rss))
            if number % 100 == 99:
                print(f"{number + 1} pages: {resident[-1] / 1e6:.0f} MB", flush=True)
    finally:
        tiered.close()
    return resident


def slope(values: Sequence[int]) -> float:
    """Growth per step, by least squares."""
    return float(np.polyfit(np.arange(len(values)), np.asarray(values, dtype=np.float64), 1)[0])


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    return_large_blocks()
    parser = parser_for("soak", __doc__)
    parser.add_argument("--pages", type=int, default=1000)
    options = parser.parse_args(argv)
    start = begin(OUR_PACKAGES)
    started = time.perf_counter()
    resident = asyncio.run(read(options.pages))
    half = resident[len(resident) // 2 :]
    grown = slope(half) * len(half)
    values = {
        "pages": float(options.pages),
        "seconds": time.perf_counter() - started,
        "resident_bytes_half": float(half[0]),
        "resident_bytes_end": float(half[-1]),
        "resident_bytes_most": float(max(resident)),
        "grown_bytes_second_half": grown,
    }
    verdict = Verdict(
        bar="bytes grown over the second half at most, by slope",
        variant="edge-tiny",
        peer="",
        case=CASE,
        value=grown,
        limit=GROWN_BYTES,
        passed=grown <= GROWN_BYTES,
    )
    result = build_result(
        "soak",
        WHAT,
        start=start,
        variants=[variant_record("edge-tiny", start, versions={}, parameters={})],
        measures=[Measure(variant="edge-tiny", case=CASE, values=values)],
        verdicts=[verdict],
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
