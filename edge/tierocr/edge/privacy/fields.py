"""Which places on a page a field's label names: right of it and below it. Pure.

A label is looked for in the edge's own text, so it may be misread a little: of two to five
characters one, of more two may be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tierocr.edge.privacy.fuzzy import cleaned, find, words
from tierocr.edge.privacy.placing import Box, Frame
from tierocr.shared.document import Quad
from tierocr.shared.geometry import slice_quad, span

_TOUCH = 0.1
"""A line belongs to a place if so much of it lies there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a value may stand from its label, in heights of the label: up to `right` behind it,
    up to `below` under it.
    """

    right: float = 20.0
    below: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Lines that are read as one: indices, and the text of each (see `cleaned`). `borders`: places
    of the whole text between words.
    """

    indices: tuple[int, ...]
    texts: tuple[str, ...]
    borders: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.texts)

    def lines_of(self, start: int, end: int) -> tuple[int, ...]:
        """Which lines have characters between two places of the text."""
        found, at = [], 0
        for index, text in zip(self.indices, self.texts, strict=True):
            if at < end and start < at + len(text):
                found.append(index)
            at += len(text)
        return tuple(found)


def written(indices: Sequence[int], texts: Sequence[str]) -> Written:
    """Lines as one, from what was read of each. There is a border beside everything that is no
    ASCII letter or digit: other scripts do not part their words.
    """
    borders, whole = {0}, ""
    for word in (word for text in texts for word in words(text)):
        whole += word
        borders.add(len(whole))
    for i, character in enumerate(whole):
        if not (character.isascii() and character.isalnum()):
            borders |= {i, i + 1}
    return Written(
        indices=tuple(indices),
        texts=tuple(cleaned(text) for text in texts),
        borders=frozenset(borders),
    )


def tolerated(label: str) -> int:
    """How many characters of a label (see `cleaned`) may be wrong."""
    return 0 if len(label) < 2 else 1 if len(label) < 6 else 2


def label_quads(label: str, row: Written, quads: Sequence[Quad]) -> list[Quad]:
    """Where a label stands in lines that are read as one."""
    wanted = cleaned(label)
    template = [frozenset(c) for c in wanted]
    found = []
    text = row.text
    exact = [
        match.span()
        for match in re.finditer(re.escape(wanted), text)
        if row.borders.intersection(match.span())  # also as a part of a word: surname, names
    ]
    for start, end in [*exact, *find(template, text, tolerated(wanted), row.borders)]:
        indices = row.lines_of(start, end)
        if len(indices) == 1:
            found.append(_part(row, indices[0], start, end, quads))
        elif indices:
            found.append(span([quads[i] for i in indices]))
    return found


def places(label: Quad, reach: Reach) -> list[Quad]:
    """Where the value of a label may stand, the label with it."""
    frame = Frame(label)
    height, width = frame.across, frame.along
    right = Box(
        left=0.0, top=-0.3 * height, right=width + reach.right * height, bottom=1.3 * height
    )
    under = Box(
        left=-height,
        top=0.0,
        right=max(3 * width, 12 * height),
        bottom=(1 + reach.below) * height,
    )
    wanted = ([right] if reach.right else []) + ([under] if reach.below else [])
    return [frame.quad(box) for box in wanted]


def standing_in(place: Quad, quads: Sequence[Quad]) -> list[int]:
    """Which lines stand in a place, or reach into it."""
    if not quads:
        return []
    frame = Frame(place)
    whole = Box(left=0.0, top=0.0, right=frame.along, bottom=frame.across)
    return [i for i, box in enumerate(frame.boxes(quads)) if whole.share_of(box) > _TOUCH]


def _part(row: Written, index: int, start: int, end: int, quads: Sequence[Quad]) -> Quad:
    """The part of a line that holds some of its characters."""
    at = 0
    for i, text in zip(row.indices, row.texts, strict=True):
        if i == index:
            first, last = max(0, start - at), min(len(text), end - at)
            return slice_quad(quads[i], first / len(text), last / len(text))
        at += len(text)
    raise AssertionError
