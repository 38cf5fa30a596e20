"""What a line says: crops -> width buckets -> tensors; network output -> text, characters, signals.

Pure functions; must not know which runtime runs the network. A crop's input width is a function of
the crop alone, so its neighbours in a batch can never change its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tierocr.shared.cropping import scale_to_height
from tierocr.shared.document import Floats, Pixels

SPACE = " "

MAX_COLUMNS = 2048
"""Input columns in one batch: eight lines of 256, one of 2048."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecogniserFacts:
    """What a recogniser needs to know about its pack.

    `charset`: the character of each output class from 1 on (class 0 is the CTC blank). `height`:
    input height in pixels. `stride`: input pixels per output column. `bucket`: input widths are
    rounded up to it. `max_width`: longer lines are split. `mean`, `std` of pixels scaled to 0..1.
    """

    charset: tuple[str, ...]
    height: int = 48
    stride: int = 8
    bucket: int = 64
    min_width: int = 64
    max_width: int = 2048
    mean: float = 0.5
    std: float = 0.5
    end_padding: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """One read character. `start`, `end`: fractions of the crop's width; probabilities as in
    `Signals`.
    """

    text: str
    start: float
    end: float
    probability: float
    margin: float
    entropy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one crop says. `text` is the glyphs' text; `truncated` if something had to be left
    out.
    """

    glyphs: tuple[Glyph, ...]
    truncated: bool = False

    @property
    def text(self) -> str:
        """The text, spaces included."""
        return "".join(g.text for g in self.glyphs)

    @property
    def mean_probability(self) -> float:
        """Mean probability over the characters that are not spaces, 0 for an empty reading."""
        values = [g.probability for g in self.glyphs if g.text != SPACE]
        return sum(values) / len(values) if values else 0.0


EMPTY = Reading(glyphs=())


def prepare(crop: Pixels, facts: RecogniserFacts) -> Pixels:
    """Scale a crop to the input height and pad both ends: (height, w, 3) uint8.

    The padding repeats the border columns: text that touches the crop's edge stays readable.
    """
    scaled = scale_to_height(crop, facts.height)
    return cv2.copyMakeBorder(  # type: ignore[return-value]
        scaled, 0, 0, facts.end_padding, facts.end_padding, cv2.BORDER_REPLICATE
    )


def input_width(content_width: int, facts: RecogniserFacts) -> int:
    """The width bucket of a prepared crop: a function of the crop alone.

    Buckets grow with the width, so that the runtime sees few shapes and little is padded.
    """
    width = max(content_width, facts.min_width)
    buckets = -(-width // facts.bucket)
    step = facts.bucket * (1 if buckets <= 6 else 2 if buckets <= 16 else 4)
    return -(-width // step) * step


def batches(widths: Sequence[int], max_batch: int) -> Iterator[list[int]]:
    """Indices of crops grouped by equal input width, narrow ones first.

    At most `max_batch` each, and no more than `MAX_COLUMNS` input columns together: memory grows
    with columns, and a few wide lines keep a device as busy as many narrow ones.
    """
    order = sorted(range(len(widths)), key=lambda i: widths[i])
    start = 0
    for stop in range(1, len(order) + 1):
        width = widths[order[start]]
        done = stop == len(order) or widths[order[stop]] != width
        if done or stop - start == min(max_batch, max(1, MAX_COLUMNS // width)):
            yield order[start:stop]
            start = stop


def to_tensor(prepared: Sequence[Pixels], width: int, facts: RecogniserFacts) -> Floats:
    """Prepared crops, each at most `width` wide -> (N, 3, height, width) float32, zero beyond each
    crop.
    """
    tensor = np.zeros((len(prepared), 3, facts.height, width), dtype=np.float32)
    scale, shift = 1 / (255 * facts.std), facts.mean / facts.std
    for row, crop in zip(tensor, prepared, strict=True):
        target = row[:, :, : crop.shape[1]]
        np.multiply(crop.transpose(2, 0, 1), scale, out=target, casting="unsafe")
        target -= shift
    return tensor


def decode(
    probability: Floats, content_width: int, input_width: int, facts: RecogniserFacts
) -> Reading:
    """(T, C) softmax values of one crop -> its reading, by best-path CTC decoding.

    Positions refer to the crop without its end padding. Raises ValueError when C is not the
    charset's size plus the blank.
    """
    columns, classes = probability.shape
    if classes != len(facts.charset) + 1:
        raise ValueError(f"{classes} classes for a charset of {len(facts.charset)} and a blank")
    best = probability.argmax(axis=1)
    peaks = _peaks(best, probability)
    per_column = input_width / columns
    inner = max(1.0, content_width - 2.0 * facts.end_padding)
    glyphs = []
    for first, last, peak in peaks:
        top = probability[peak]
        left = (first * per_column - facts.end_padding) / inner
        right = ((last + 1) * per_column - facts.end_padding) / inner
        glyphs.append(
            Glyph(
                text=facts.charset[int(best[peak]) - 1],
                start=min(max(left, 0.0), 1.0),
                end=min(max(right, 0.0), 1.0),
                probability=float(min(top[best[peak]], 1.0)),
                margin=_margin(top),
                entropy=_entropy(top),
            )
        )
    return Reading(glyphs=tuple(glyphs))


def _peaks(best: NDArray[np.intp], probability: Floats) -> list[tuple[int, int, int]]:
    """(first, last, strongest) column of each run of one class that is not the blank."""
    edges = np.flatnonzero(np.diff(best)) + 1
    starts = np.concatenate([[0], edges])
    stops = np.concatenate([edges, [len(best)]])
    runs = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if best[start] != 0:
            peak = start + int(probability[start:stop, best[start]].argmax())
            runs.append((start, stop - 1, peak))
    return runs


def _margin(top: Floats) -> float:
    second, first = np.partition(top, -2)[-2:]
    return float(first - second)


def _entropy(top: Floats) -> float:
    p = top[top > 1e-6]
    return float(-(p * np.log(p)).sum())
