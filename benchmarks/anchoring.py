"""Which labelled box each predicted character belongs to: the geometry under `benchmarks.score`.

A predicted line need not be cut as the labels are. Each of its characters is placed on the page,
and goes to the label whose box holds its centre. Pure functions of JSON values.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Point = tuple[float, float]


class Placed(NamedTuple):
    """A predicted character and its centre."""

    text: str
    x: float
    y: float


class Piece(NamedTuple):
    """A run of predicted characters in a label's own axes; `thick` is the height of its line."""

    across: float
    thick: float
    along: float
    text: str


@dataclass(slots=True, kw_only=True)
class Label:
    """A labelled box and what was predicted in it; `area` and `height` of its upright hull."""

    text: str
    box: list[Point]
    area: float
    height: float
    ignore: bool
    pieces: list[Piece] = field(default_factory=list)


def label_of(line: dict[str, Any]) -> Label:
    """A boxed line of `labels.jsonl`."""
    box = [(x, y) for x, y in line["box"]]
    xs, ys = [x for x, _ in box], [y for _, y in box]
    height = max(ys) - min(ys)
    return Label(
        text=line["text"],
        box=box,
        area=(max(xs) - min(xs)) * height,
        height=height,
        ignore=bool(line.get("ignore")),
    )


def spread(text: str, polygon: Sequence[Sequence[float]]) -> list[Placed]:
    """Lay `text` along the mid line of its polygon; wide characters take twice the room."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = polygon
    x0, y0, x1, y1 = (ax + dx) / 2, (ay + dy) / 2, (bx + cx) / 2, (by + cy) / 2
    widths = [2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text]
    total, position, placed = sum(widths) or 1, 0, []
    for character, width in zip(text, widths, strict=True):
        t = (position + width / 2) / total
        position += width
        if not character.isspace():
            placed.append(Placed(character, x0 + (x1 - x0) * t, y0 + (y1 - y0) * t))
    return placed


def place_characters(line: dict[str, Any]) -> list[Placed]:
    """Where a line's characters stand: by character boxes, else word boxes, else spread out."""
    bare = _without_space(line["text"])
    words = line.get("words") or []
    characters = [c for w in words for c in w.get("chars") or []] or line.get("chars") or []
    for parts in (characters, words):
        boxed = bool(parts) and all(part.get("polygon") for part in parts)
        if boxed and _without_space("".join(part["text"] for part in parts)) == bare:
            return [c for part in parts for c in spread(part["text"], part["polygon"])]
    return spread(line["text"], line["polygon"])


def inside(box: list[Point], x: float, y: float, pad: float) -> bool:
    """Whether the point lies in the box grown by `pad` pixels, whichever way its corners run."""
    xs, ys = [p[0] for p in box], [p[1] for p in box]
    if not (min(xs) - pad <= x <= max(xs) + pad and min(ys) - pad <= y <= max(ys) + pad):
        return False
    centre_x, centre_y = sum(xs) / 4, sum(ys) / 4
    for (ax, ay), (bx, by) in zip(box, box[1:] + box[:1], strict=True):
        nx, ny = by - ay, ax - bx
        length = math.hypot(nx, ny) or 1
        if (centre_x - ax) * nx + (centre_y - ay) * ny < 0:
            nx, ny = -nx, -ny
        if ((x - ax) * nx + (y - ay) * ny) / length < -pad:
            return False
    return True


def axes(box: list[Point], x: float, y: float) -> tuple[float, float]:
    """(along, across): pixels along a label's reading direction and down from its top edge."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = box
    ux, uy = bx + cx - ax - dx, by + cy - ay - dy
    length = math.hypot(ux, uy) or 1
    ux, uy = ux / length, uy / length
    return (x - ax) * ux + (y - ay) * uy, -(x - ax) * uy + (y - ay) * ux


def owner(labels: list[Label], order: Sequence[int], x: float, y: float) -> int | None:
    """The label that a character belongs to; `order` lists the labels from small to large.

    It is the smallest box that holds the character; of boxes of like size, the one whose mid line
    is nearest.
    """
    hits = [i for i in order if inside(labels[i].box, x, y, 0.15 * min(labels[i].height, 60))]
    if not hits:
        return next((i for i in order if _just_beside(labels[i].box, x, y)), None)
    near = [i for i in hits if labels[i].area < 2.5 * labels[hits[0]].area]
    return min(near, key=lambda i: _off_mid_line(labels[i].box, x, y))


def _just_beside(box: list[Point], x: float, y: float) -> bool:
    """A loose box ends beside its label: up to half a line height past either end still counts."""
    (ax, ay), (bx, by), _, (dx, dy) = box
    along, across = axes(box, x, y)
    width, height = math.hypot(bx - ax, by - ay), math.hypot(dx - ax, dy - ay)
    slack = 0.5 * min(width, height)
    return -slack <= along <= width + slack and 0 <= across <= height


def _off_mid_line(box: list[Point], x: float, y: float) -> float:
    """How far the point is from the box's mid line, in heights of the box."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = box
    _, across = axes(box, x, y)
    height = (math.hypot(dx - ax, dy - ay) + math.hypot(cx - bx, cy - by)) / 2 or 1
    return abs(across / height - 0.5)


def _without_space(text: str) -> str:
    return re.sub(r"\s", "", text)
