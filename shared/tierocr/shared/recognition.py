"""What a line says: crops -> width buckets -> batches; network output -> text, characters, signals.

Pure functions; must not know which runtime runs the network. A crop's input width is a function of
the crop alone, so its neighbours in a batch can never change its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import cv2
import numpy as np

from tierocr.shared.cropping import scale_to_height, scaled_width
from tierocr.shared.document import Classes, Floats, Pixels

SPACE = " "


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRules:
    """What may go into one call of the engine: at most `max_batch` crops, and no more than
    `max_columns` input columns together (but at least one crop).

    Memory grows with columns, and a few wide lines keep a CPU as busy as many narrow ones: eight
    lines of 128 columns, one of 1024. `few_sizes`: only powers of two, since a CPU runtime keeps
    kernels and memory for every shape that it meets.
    """

    max_batch: int = 8
    max_columns: int = 1024
    few_sizes: bool = True


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
    """One read character. `start`, `end`: fractions of the crop's width. `probability`, `margin`
    (to the second best) and `entropy` (in nats, of the best, the second and all others taken as
    one class) are those of its strongest column.
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


def prepared_width(crop: Pixels, facts: RecogniserFacts) -> int:
    """How wide `prepare` makes a crop, in columns, without doing it."""
    height, width = crop.shape[:2]
    return scaled_width(width, height, facts.height) + 2 * facts.end_padding


def input_width(content_width: int, facts: RecogniserFacts) -> int:
    """The width bucket of a prepared crop: a function of the crop alone.

    Buckets grow with the width, so that the runtime sees few shapes and little is padded.
    """
    width = max(content_width, facts.min_width)
    buckets = -(-width // facts.bucket)
    step = facts.bucket * (1 if buckets <= 6 else 2 if buckets <= 16 else 4)
    return -(-width // step) * step


def batches(widths: Sequence[int], rules: BatchRules) -> Iterator[list[int]]:
    """Indices of crops grouped by equal input width, narrow ones first, as the rules allow."""
    order = sorted(range(len(widths)), key=lambda i: widths[i])
    for width, group in groupby(order, key=lambda i: widths[i]):
        same = list(group)
        most = min(rules.max_batch, max(1, rules.max_columns // width))
        while same:
            size = min(most, len(same))
            if rules.few_sizes:
                size = 1 << (size.bit_length() - 1)
            yield same[:size]
            same = same[size:]


def to_batch(prepared: Sequence[Pixels], width: int, facts: RecogniserFacts) -> Pixels:
    """Prepared crops, each at most `width` wide -> (N, height, width, 3) uint8, beyond each crop
    the grey that the network sees as zero.
    """
    shape = (len(prepared), facts.height, width, 3)
    batch = np.full(shape, round(255 * facts.mean), dtype=np.uint8)
    for row, crop in zip(batch, prepared, strict=True):
        row[:, : crop.shape[1]] = crop
    return batch


def decode(
    probability: Floats,
    classes: Classes,
    content_width: int,
    input_width: int,
    facts: RecogniserFacts,
) -> Reading:
    """(T, 2) probabilities and classes of each column's two best -> its reading, by best-path CTC
    decoding.

    Positions refer to the crop without its end padding. Raises ValueError for a class that the
    charset does not have.
    """
    best = classes[:, 0]
    if int(best.max(initial=0)) > len(facts.charset):
        raise ValueError(f"class {best.max()} for a charset of {len(facts.charset)} and a blank")
    per_column = input_width / len(best)
    inner = max(1.0, content_width - 2.0 * facts.end_padding)
    glyphs = []
    for first, last, peak in _peaks(best, probability[:, 0]):
        top, second = probability[peak].tolist()
        left = (first * per_column - facts.end_padding) / inner
        right = ((last + 1) * per_column - facts.end_padding) / inner
        glyphs.append(
            Glyph(
                text=facts.charset[int(best[peak]) - 1],
                start=min(max(left, 0.0), 1.0),
                end=min(max(right, 0.0), 1.0),
                probability=min(top, 1.0),
                margin=min(top, 1.0) - second,
                entropy=_entropy(top, second, 1.0 - top - second),
            )
        )
    return Reading(glyphs=tuple(glyphs))


def _peaks(best: Classes, probability: Floats) -> list[tuple[int, int, int]]:
    """(first, last, strongest) column of each run of one class that is not the blank."""
    starts = np.concatenate(([0], np.flatnonzero(best[1:] != best[:-1]) + 1))
    stops = np.append(starts[1:], len(best))
    seen = best[starts] != 0
    return [
        (
            start,
            stop - 1,
            start + int(probability[start:stop].argmax()) if stop > start + 1 else start,
        )
        for start, stop in zip(starts[seen].tolist(), stops[seen].tolist(), strict=True)
    ]


def _entropy(*probabilities: float) -> float:
    return -sum(p * math.log(p) for p in probabilities if p > 1e-6)
