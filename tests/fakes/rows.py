"""Pages of several painted lines, and a reader over fake networks that reads them.

A line with an `s` in it is read with certainty, any other with some doubt.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from PIL import Image

from tests.fakes.engines import DARK, FACTS, ManyAtATime, OneAtATime, PaintedReader
from tests.fakes.painted import HEIGHT, LETTERS, paint
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import EngineInfo, Floats, Pixels
from tierocr.shared.engines import Output
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.recogniser import Recogniser

_EDGE, _GAP = 40, 40


def page(*texts: str) -> Pixels:
    """A white page with these lines one below the other."""
    crops = [paint(text) for text in texts]
    width = max((c.shape[1] for c in crops), default=100) + 2 * _EDGE
    height = 2 * _EDGE + len(crops) * (HEIGHT + _GAP)
    pixels = np.full((height, width, 3), 255, dtype=np.uint8)
    for i, crop in enumerate(crops):
        top = _EDGE + i * (HEIGHT + _GAP)
        pixels[top : top + HEIGHT, _EDGE : _EDGE + crop.shape[1]] = crop
    return pixels


def tiff(pages: Sequence[Pixels]) -> bytes:
    """The pages as one file, without loss."""
    images = [Image.fromarray(np.ascontiguousarray(p[:, :, ::-1])) for p in pages]
    out = io.BytesIO()
    images[0].save(out, "TIFF", save_all=True, append_images=images[1:])
    return out.getvalue()


def rows_reader(before: Callable[[], None] = lambda: None, kind: type[Reader] = Reader) -> Reader:
    """A whole reader; `before` runs before each call of the recogniser's network."""
    network = _CertainOfS(ManyAtATime(), before)
    info = EngineInfo(pack="painted", precision=network.precision, runtime=network.runtime)
    detector = Detector(_RowsFinder(OneAtATime()), DetectorFacts(unclip_ratio=0.0))
    return kind(detector, Recogniser(network, FACTS), info=info)


class _RowsFinder:
    """Finds one region in each band of rows that has something dark."""

    runtime = "fake 1.0 CPU"
    precision = "f32"

    def __init__(self, device: OneAtATime) -> None:
        self.device = device

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        for batch in batches:
            with self.device:
                dark = batch[0, ..., 0] < DARK
                found = np.zeros((1, 1, *dark.shape), dtype=np.float32)
                edges = np.flatnonzero(np.diff(np.pad(dark.any(axis=1), 1).astype(np.int8)))
                for top, bottom in edges.reshape(-1, 2):
                    columns = np.flatnonzero(dark[top:bottom].any(axis=0))
                    found[0, 0, top:bottom, columns[0] : columns[-1] + 1] = 0.9
            yield Output(values=found)


class _CertainOfS(PaintedReader):
    def answer(self, probabilities: Floats) -> Floats:
        certain = (probabilities[:, :, 1 + LETTERS.index("s")] > 0.5).any(axis=1)
        probabilities[certain] = np.rint(probabilities[certain])
        return probabilities
