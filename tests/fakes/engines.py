"""Networks that are nastier than real ones: slow, failing on certain crops, overwriting their
output, and unforgiving when two threads come at once that should not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.fakes.painted import HEIGHT, LETTERS, POISON_LEVEL
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import CLOUD, EngineInfo, Floats, Pixels
from tierocr.shared.engines import Output
from tierocr.shared.engines.arrays import best_of
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.recognition import RecogniserFacts

STRIDE = 8
UPRIGHT, DOUBTFUL = 0.9375, 0.375
DARK = 124


@dataclass
class OneAtATime:
    """Fails when a second caller comes while the first is still inside."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: set[int] = field(default_factory=set)

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            raise AssertionError("two threads at one device")
        self.threads.add(threading.get_ident())

    def __exit__(self, *args: object) -> None:
        self.lock.release()


class ManyAtATime(OneAtATime):
    """Takes as many callers as come."""

    def __enter__(self) -> None:
        self.threads.add(threading.get_ident())

    def __exit__(self, *args: object) -> None:
        pass


class PaintedReader:
    """Reads what `tests.fakes.painted` paints. `before` runs inside each call, e.g. to be slow."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(
        self, device: OneAtATime | None = None, before: Callable[[], None] = lambda: None
    ) -> None:
        self.device, self.before = device or OneAtATime(), before
        self.batches: list[tuple[int, int]] = []

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        handed_out: Floats = np.zeros((0, 0, 0), dtype=np.float32)
        for batch in batches:
            with self.device:
                handed_out[:] = np.nan  # no longer valid
                count, _, width, _ = batch.shape
                self.batches.append((count, width))
                self.before()
                level = batch[..., 0]
                if ((level[:, HEIGHT // 2] == POISON_LEVEL).sum(axis=1) >= 8).any():
                    raise RuntimeError("the driver fell over")
                output = best_of(self.answer(np.stack([_columns(row) for row in level])), 2)
                handed_out = output.values
            yield output

    def answer(self, probabilities: Floats) -> Floats:
        """What it says where the picture says this: (N, T, C) probabilities."""
        return probabilities


def _columns(level: NDArray[np.uint8]) -> Floats:
    """(H, W) grey levels of one line -> (T, C) probabilities."""
    centres = np.arange(level.shape[1] // STRIDE) * STRIDE + STRIDE // 2
    middle, top = level[HEIGHT // 2, centres], level[HEIGHT // 6, centres]
    output = np.zeros((len(centres), len(LETTERS) + 2), dtype=np.float32)
    flat = np.ptp([level[HEIGHT // 2, centres + d] for d in (-3, 0, 3)], axis=0) == 0
    for column, (here, above) in enumerate(zip(middle, top, strict=True)):
        letter = int(here) // 4
        if not flat[column] or here % 4 not in (0, 2) or letter >= len(LETTERS):
            output[column, 0] = 1.0
            continue
        probability = UPRIGHT if above == here + 2 else DOUBTFUL
        output[column, 1 + letter] = probability
        output[column, 0 if probability > 0.5 else -1] = 1 - probability
    return output


class DarkBoxFinder:
    """Finds one region: the box around everything dark."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self, device: OneAtATime) -> None:
        self.device = device

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        for batch in batches:
            with self.device:
                dark = batch[0, ..., 0] < DARK
                found = np.zeros((1, 1, *dark.shape), dtype=np.float32)
                rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
                if rows.size:
                    found[0, 0, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = 0.9
            yield Output(values=found)


FACTS = RecogniserFacts(charset=(*LETTERS, " "), height=HEIGHT, stride=STRIDE, end_padding=8)


def painted_reader(before: Callable[[], None] = lambda: None) -> tuple[Reader, PaintedReader]:
    """A whole reader over fake networks, and its recogniser's network to look into."""
    network = PaintedReader(OneAtATime(), before)
    detector = Detector(DarkBoxFinder(OneAtATime()), DetectorFacts(unclip_ratio=0.0))
    info = EngineInfo(pack="painted", precision=network.precision, runtime=network.runtime)
    return Reader(detector, Recogniser(network, FACTS), info=info, source=CLOUD), network


def slow(seconds: float) -> Callable[[], None]:
    """Something to do before each call."""
    return lambda: time.sleep(seconds)
