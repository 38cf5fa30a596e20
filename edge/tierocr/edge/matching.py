"""Which read line belongs to which known line of a sample page, and which are exactly right. Pure.

A reader may join or split lines otherwise than the truth does, so a known line counts as read
when the text of the read lines whose middles lie in it, in order, is its text; white space does
not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierocr.edge.samples import TruthLine
from tierocr.shared.document import Line, Matrix3, Point, Quad
from tierocr.shared.geometry import centre


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """`exact`: known lines read exactly. `owners`: text of the known line by read line's
    identity.
    """

    exact: int
    owners: dict[int, str]

    def truth_of(self, line: Line) -> str | None:
        """The known text that a read line lies on, None where it lies on none."""
        return self.owners.get(id(line))


def match_truth(lines: Sequence[Line], truth: Sequence[TruthLine], transform: Matrix3) -> Match:
    """Anchor every read character in a known line. `transform`: page pixels -> stored pixels."""
    got: list[list[tuple[float, str]]] = [[] for _ in truth]
    owners: dict[int, str] = {}
    for line in lines:
        for text, middle in _placed(line):
            point = _apply(transform, middle)
            hit = next((i for i, known in enumerate(truth) if _inside(known.quad, point)), None)
            if hit is not None:
                got[hit].append((_along(truth[hit].quad, point), text))
                owners.setdefault(id(line), truth[hit].text)
    read = ["".join(text for _, text in sorted(parts, key=lambda p: p[0])) for parts in got]
    return Match(
        exact=sum(_bare(a) == _bare(b.text) for a, b in zip(read, truth, strict=True)),
        owners=owners,
    )


def _placed(line: Line) -> list[tuple[str, Point]]:
    """(text, middle) of each character, of the whole line where it has none."""
    characters = [c for word in line.words for c in word.characters]
    parts = [(c.text, c.quad) for c in characters] or [(line.text, line.region.quad)]
    return [(text, centre(quad)) for text, quad in parts]


def _apply(transform: Matrix3, point: Point) -> Point:
    x, y, w = np.asarray(transform) @ (point[0], point[1], 1.0)
    return float(x / w), float(y / w)


def _inside(quad: Quad, point: Point) -> bool:
    """Whether a point lies in a convex quad with clockwise corners."""
    return all(
        (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) >= 0
        for (ax, ay), (bx, by) in zip(quad, quad[1:] + quad[:1], strict=True)
    )


def _along(quad: Quad, point: Point) -> float:
    (ax, ay), (bx, by), _, _ = quad
    return (point[0] - ax) * (bx - ax) + (point[1] - ay) * (by - ay)


def _bare(text: str) -> str:
    return "".join(text.split())
