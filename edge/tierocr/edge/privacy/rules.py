"""What of a page must not leave: rules in, polygons and lines out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tierocr.edge.privacy.fields import (
    Reach,
    Written,
    label_quads,
    places,
    standing_in,
    written,
)
from tierocr.edge.privacy.patterns import Template, has_digit, spans
from tierocr.edge.privacy.placing import below, chains
from tierocr.shared.document import Line, Point, Quad
from tierocr.shared.geometry import grow, quad_size

Allow = Literal["never", "lines", "pages"]
Unit = Literal["page", "pixels"]
_ROOM = 0.1
"""A forbidden line is covered with so much around it, in its heights."""

_WRAPPED = 4
"""So many digits at the end of a line and at the start of the next may be one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """A polygon of the upright page, in fractions of its width and height or in pixels."""

    points: tuple[Point, ...]
    unit: Unit = "page"

    def on(self, width: int, height: int) -> tuple[Point, ...]:
        """The polygon in pixels of a page."""
        sx, sy = (width, height) if self.unit == "page" else (1, 1)
        return tuple((x * sx, y * sy) for x, y in self.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveRules:
    """For one source. `allow`: what may leave at all: nothing, single lines, or whole pages."""

    allow: Allow = "lines"
    zones: tuple[Zone, ...] = ()
    labels: tuple[str, ...] = ()
    reach: Reach = field(default_factory=Reach)
    patterns: tuple[Template, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether nothing is hidden of what may leave."""
        return not (self.zones or self.labels or self.patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """Polygons in page pixels that nobody else may see, and lines whose text nobody may be told."""

    polygons: tuple[tuple[Point, ...], ...] = ()
    lines: frozenset[int] = frozenset()


def forbidden(lines: Sequence[Line], width: int, height: int, rules: LeaveRules) -> Forbidden:
    """What of a page must not leave. `width`, `height`: of the page, in pixels."""
    quads = [line.region.quad for line in lines]
    polygons: list[tuple[Point, ...]] = [zone.on(width, height) for zone in rules.zones]
    hidden: set[int] = set()
    if rules.labels or rules.patterns:
        rows = _rows(lines, quads)
        for place in _values(rows, quads, rules):
            polygons.append(place)
            hidden.update(standing_in(place, quads))
        hidden.update(_numbers(rows, quads, rules.patterns))
    polygons += [_with_room(quads[i]) for i in sorted(hidden)]
    return Forbidden(polygons=tuple(polygons), lines=frozenset(hidden))


def _rows(lines: Sequence[Line], quads: Sequence[Quad]) -> list[Written]:
    return [written(chain, [lines[i].text for i in chain]) for chain in chains(quads)]


def _values(rows: Iterable[Written], quads: Sequence[Quad], rules: LeaveRules) -> list[Quad]:
    found = [
        place
        for row in rows
        for label in rules.labels
        for quad in label_quads(label, row, quads)
        for place in places(quad, rules.reach)
    ]
    return list(dict.fromkeys(found))


def _numbers(
    rows: Sequence[Written], quads: Sequence[Quad], patterns: Sequence[Template]
) -> set[int]:
    """Lines with a number in them, or a piece of one."""
    if not patterns:
        return set()
    numeric = [row for row in rows if has_digit(row.text)]
    return {
        index
        for row in [*numeric, *_wrapped(numeric, quads)]
        for form in patterns
        for start, end in spans(form, row.text)
        for index in row.lines_of(start, end)
    }


def _wrapped(rows: Sequence[Written], quads: Sequence[Quad]) -> list[Written]:
    """Rows that may go on in the row below, as one; a row of nothing but digits does not, as they
    stand in columns of tables.
    """
    ends = [
        row
        for row in rows
        if _all_digits(row.text[-_WRAPPED:]) and not all(has_digit(c) for c in row.text)
    ]
    begins = [row for row in rows if _all_digits(row.text[:_WRAPPED])]
    starts = [quads[b.indices[0]] for b in begins]
    return [
        Written(indices=(*a.indices, *b.indices), texts=(*a.texts, *b.texts))
        for a in ends
        for b in (begins[i] for i in below(quads[a.indices[-1]], starts))
        if a is not b
    ]


def _all_digits(text: str) -> bool:
    """Whether all of so many characters could be digits."""
    return len(text) == _WRAPPED and all(has_digit(c) for c in text)


def _with_room(quad: Quad) -> Quad:
    room = _ROOM * quad_size(quad)[1]
    return grow(quad, room, room)
