"""Networks that compute their answer from the pixels in an obvious way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError


class InkFinder:
    """A detector that calls every dark pixel text. Remembers the input sizes (width, height)."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    def run(self, batch: Floats) -> Floats:
        self.sizes.append((batch.shape[3], batch.shape[2]))
        return np.where(batch[:, :1] < 0, np.float32(0.9), np.float32(0.0))


class Answering:
    """A recogniser that answers with what a function says. Remembers each input."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self, answer: Callable[[Floats], Floats]) -> None:
        self.answer = answer
        self.inputs: list[Floats] = []

    def run(self, batch: Floats) -> Floats:
        self.inputs.append(batch.copy())
        return self.answer(batch)


class Broken:
    """A device that fails."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def run(self, batch: Floats) -> Floats:
        raise TierocrError("internal", "the device fell over")
