"""One recognition network on one engine: crops of lines -> readings.

Crops are grouped by width bucket; a line longer than the network's range is split where there is
little ink, and its readings are stitched. A crop's reading does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tierocr.shared.document import Pixels
from tierocr.shared.engines import Engine
from tierocr.shared.recognition import (
    EMPTY,
    BatchRules,
    Glyph,
    Reading,
    RecogniserFacts,
    batches,
    decode,
    input_width,
    prepare,
    prepared_width,
    to_batch,
)


class Recogniser:
    """Reads crops of single lines. May be used from several threads: their calls of the network
    are mixed, so that none of its streams is idle at the end of one's crops.
    """

    def __init__(
        self, engine: Engine, facts: RecogniserFacts, *, rules: BatchRules | None = None
    ) -> None:
        """Wire an engine to the facts of its pack. `rules`: what goes into one call of it."""
        self.engine = engine
        self.facts = facts
        self.rules = rules or BatchRules()

    def read(self, crops: Sequence[Pixels]) -> list[Reading]:
        """(h, w, 3) uint8 BGR crops, reading left to right -> one reading each, in the same order.

        Raises TierocrError when the engine fails.
        """
        pieces = [(i, piece) for i, crop in enumerate(crops) for piece in self._pieces(crop)]
        readings = self._read_pieces([piece for _, piece in pieces])
        parts: list[list[tuple[_Piece, Reading]]] = [[] for _ in crops]
        for (index, piece), reading in zip(pieces, readings, strict=True):
            parts[index].append((piece, reading))
        return [_stitch(part) for part in parts]

    def _pieces(self, crop: Pixels) -> list[_Piece]:
        """A crop as a whole, to be scaled when its turn comes; or scaled and split."""
        width = prepared_width(crop, self.facts)
        if width > self.facts.max_width:
            return _split(prepare(crop, self.facts), self.facts)
        return [_Piece(partial(prepare, crop, self.facts), width, 0.0, 1.0, (0.0, 1.0))]

    def _read_pieces(self, pieces: Sequence[_Piece]) -> list[Reading]:
        widths = [input_width(piece.width, self.facts) for piece in pieces]
        groups = list(batches(widths, self.rules))
        inputs = (  # made while the device works on those before
            to_batch([pieces[i].prepared() for i in group], widths[group[0]], self.facts)
            for group in groups
        )
        readings = [EMPTY] * len(pieces)
        for group, output in zip(groups, self.engine.run(inputs), strict=True):
            assert output.classes is not None  # as `recogniser_network` asks
            for row, i in enumerate(group):
                best = output.values[row], output.classes[row]
                readings[i] = decode(*best, pieces[i].width, widths[i], self.facts)
        return readings


class _Piece:
    """A part of a crop, `width` columns when prepared, with context; glyphs count between `keep`
    fractions of it.
    """

    def __init__(
        self,
        prepared: Callable[[], Pixels],
        width: int,
        start: float,
        end: float,
        keep: tuple[float, float],
        column: float = 0.0,
    ) -> None:
        self.prepared, self.width = prepared, width
        self.start, self.end, self.keep, self.column = start, end, keep, column


def _split(prepared: Pixels, facts: RecogniserFacts) -> list[_Piece]:
    """Cut a prepared crop that is too long at its emptiest columns, with a line height of
    context.
    """
    width = prepared.shape[1]
    context = facts.height
    count = -(-width // (facts.max_width - 4 * context))
    ink = prepared.astype(np.float32).std(axis=0).mean(axis=1)
    window = facts.height // 4  # wide enough for the minimum to lie in the middle of a gap
    smooth = np.convolve(ink, np.ones(window) / window, mode="same")
    cuts = [0]
    for k in range(1, count):
        aim, reach = width * k // count, context
        low, high = max(aim - reach, cuts[-1] + 1), min(aim + reach, width - 1)
        cuts.append(low + int(smooth[low:high].argmin()))
    cuts.append(width)
    pieces = []
    for a, b in zip(cuts, cuts[1:], strict=False):
        left, right = max(0, a - context), min(width, b + context)
        # `decode` counts fractions between the end paddings, of the piece as of the whole
        inner = right - left - 2 * facts.end_padding
        whole = width - 2 * facts.end_padding
        first = left + facts.end_padding
        pieces.append(
            _Piece(
                partial(_columns, prepared, left, right),
                right - left,
                left / whole,
                (left + inner) / whole,
                ((a - first) / inner, (b - first) / inner),
                facts.stride / inner,
            )
        )
    return pieces


def _columns(prepared: Pixels, left: int, right: int) -> Pixels:
    return prepared[:, left:right]


def _stitch(parts: list[tuple[_Piece, Reading]]) -> Reading:
    if len(parts) == 1:
        return parts[0][1]
    glyphs: list[Glyph] = []
    for piece, reading in parts:
        low, high = piece.keep
        for glyph in reading.glyphs:
            middle = (glyph.start + glyph.end) / 2
            # both pieces may see a glyph at the cut beyond it, or both on their own side
            if low - piece.column <= middle < high + piece.column:
                scale = piece.end - piece.start
                start, end = piece.start + glyph.start * scale, piece.start + glyph.end * scale
                again = replace(glyph, start=start, end=end)
                if not any(_is_twin(g, again, piece.column * scale) for g in glyphs[-3:]):
                    glyphs.append(again)
    return Reading(glyphs=tuple(glyphs), truncated=any(r.truncated for _, r in parts))


def _is_twin(a: Glyph, b: Glyph, column: float) -> bool:
    """Whether two pieces saw one glyph; CTC keeps equal neighbours at least two columns apart."""
    apart = abs(a.start + a.end - b.start - b.end) / 2
    return a.text == b.text and apart < 1.5 * column
