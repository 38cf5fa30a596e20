"""A page that the cloud has read as a whole, and the page that results. Pure.

What the cloud found becomes the page's lines, as far as it is sane. Beside it stay the lines that
nobody else was shown, and those that the edge was sure of and the cloud did not see. An answer with
much less text than the edge had is not taken at all: a page can be improved, never lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tierocr.edge.merging import LENGTH_RATIO, LENGTH_SLACK, unfit
from tierocr.edge.routing import WHOLE, p_error
from tierocr.edge.sending import WholePage
from tierocr.shared.document import (
    CLOUD,
    FINAL,
    Alternative,
    Line,
    Matrix3,
    Page,
    Quad,
    Region,
    Route,
    Word,
)
from tierocr.shared.geometry import box_overlap, centre, compose, reading_angle, transform_quad
from tierocr.shared.reading_order import reading_order

SAME_PLACE = 0.5
"""Two lines stand in one place if they share so much of the smaller one's box."""


def merge_whole(page: Page, sent: WholePage, answer: Page) -> Page:
    """The page with the cloud's lines; why they were not taken stands in its lines' routes.
    `answer`: as the cloud has read the picture, checked.
    """
    hidden = [page.lines[i].region.quad for i in sorted(sent.stay)]
    read = [line for line in _placed(page, sent, answer) if _at(line.region.quad, hidden) is None]
    homes = _homes(page.lines, read)
    before = [
        [line for i, line in enumerate(page.lines) if homes[i] == n] for n in range(len(read))
    ]
    sane = [n for n, line in enumerate(read) if unfit(line.text, _text(before[n])) is None]
    reason = _refusal(
        [line for i, line in enumerate(page.lines) if i not in sent.stay],
        [read[n] for n in sane],
    )
    if reason is not None:
        return replace(page, lines=tuple(_refused(line, reason) for line in page.lines))
    share = len(sent.image) // max(len(sane), 1)
    new = [_taken(read[n], before[n], share) for n in sane]
    left = [
        line
        for i, line in enumerate(page.lines)
        if i in sent.stay or (homes[i] not in sane and i in sent.sure)
    ]
    return replace(page, lines=_ordered(new, left))


def _placed(page: Page, sent: WholePage, answer: Page) -> Iterator[Line]:
    """The cloud's lines where they stand on the page that the edge knows."""
    sx, sy = page.width / sent.width, page.height / sent.height
    scale = ((sx, 0.0, 0.0), (0.0, sy, 0.0), (0.0, 0.0, 1.0))
    matrix = compose(scale, answer.transform)
    for line in answer.lines:
        quad = transform_quad(matrix, line.region.quad)
        x, y = centre(quad)
        if not (0 <= x <= page.width and 0 <= y <= page.height):
            continue
        yield replace(
            line,
            region=Region(quad=quad, score=line.region.score),
            words=tuple(_word(word, matrix) for word in line.words),
            angle=round(reading_angle(quad), 2),
        )


def _word(word: Word, matrix: Matrix3) -> Word:
    characters = tuple(replace(c, quad=transform_quad(matrix, c.quad)) for c in word.characters)
    return replace(word, quad=transform_quad(matrix, word.quad), characters=characters)


def _homes(lines: Sequence[Line], read: Sequence[Line]) -> list[int | None]:
    """For each line of the edge the index of the cloud's line that stands in its place."""
    return [_at(line.region.quad, [r.region.quad for r in read]) for line in lines]


def _at(quad: Quad, places: Sequence[Quad]) -> int | None:
    shares = [box_overlap(quad, place) for place in places]
    best = max(range(len(places)), key=shares.__getitem__, default=None)
    return best if best is not None and shares[best] >= SAME_PLACE else None


def _refusal(edge: Sequence[Line], cloud: Sequence[Line]) -> str | None:
    """Why an answer is not taken: it has much less text than the edge could read."""
    if edge and not cloud:
        return "empty"
    few = LENGTH_RATIO[0] * len(_text(edge)) - LENGTH_SLACK
    return "length" if len(_text(cloud)) < few else None


def _text(lines: Iterable[Line | Word]) -> str:
    return "".join("".join(line.text.split()) for line in lines)


def _taken(line: Line, before: Sequence[Line], share: int) -> Line:
    """A line of the cloud; `before`: what the edge had read in its place."""
    return replace(
        line,
        text=line.text.strip(),
        text_raw=None,
        words=line.words if _text(line.words) == _text([line]) else (),
        signals=None,
        source=CLOUD,
        status=FINAL,
        alternatives=tuple(
            Alternative(text=b.text, source=b.source, score_raw=b.score_raw) for b in before
        ),
        route=Route(
            reason=WHOLE, p_error=max((p_error(b) for b in before), default=1.0), bytes=share
        ),
    )


def _refused(line: Line, reason: str) -> Line:
    assert line.route is not None
    if line.route.reason != WHOLE:
        return line
    return replace(line, route=replace(line.route, reason=f"{WHOLE}, refused: {reason}"))


def _ordered(new: Sequence[Line], left: Sequence[Line]) -> tuple[Line, ...]:
    """The cloud knows the order of its own lines; with others among them it is found anew."""
    if not left:
        return tuple(new)
    lines = (*new, *left)
    return tuple(lines[i] for i in reading_order([line.region.quad for line in lines]))
