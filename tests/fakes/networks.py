"""Networks that compute their answer from the pixels in an obvious way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from tierocr.shared.document import Floats, Pixels
from tierocr.shared.engines import Output
from tierocr.shared.engines.arrays import best_of
from tierocr.shared.errors import TierocrError


class InkFinder:
    """A detector that calls every dark pixel text. Remembers the input sizes (width, height)."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        for batch in batches:
            self.sizes.append((batch.shape[2], batch.shape[1]))
            dark = batch[None, ..., 0] < 124
            yield Output(values=np.where(dark, np.float32(0.9), np.float32(0.0)))


class Answering:
    """A recogniser that answers with what a function says: (N, T, C) probabilities."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self, answer: Callable[[Pixels], Floats]) -> None:
        self.answer = answer

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        return (best_of(self.answer(batch), 2) for batch in batches)


class Broken:
    """A device that fails."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        raise TierocrError("internal", "the device fell over")
