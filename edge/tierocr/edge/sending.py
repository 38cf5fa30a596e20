"""What is sent of a page, and the page once the answers are there. Pure.

A `Sending` holds all that a later answer needs besides the page itself, so that a page can be
refined at once or, from what was stored, weeks later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tierocr.edge.crops import FORMAT, Crop
from tierocr.edge.merging import refusal, take
from tierocr.edge.routing import UNSURE, RoutingPlan, p_error
from tierocr.shared.document import Line, Page, Quad, Route
from tierocr.shared.protocol import Refined, RefineReply, RegionImage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sending:
    """One line to be read again: its index on the page, the place that was cut, what is sent."""

    index: int
    quad: Quad
    region: RegionImage


def page_id(sha256: str, index: int) -> str:
    """How a page is called on the wire: the same bytes give the same name. `sha256`: of its
    file.
    """
    return f"{sha256[:32]}/{index}"


def routed(page: Page, routing: RoutingPlan, crops: Mapping[int, Crop]) -> Page:
    """The page with a route on every line."""
    lines = tuple(
        replace(
            line,
            route=Route(
                reason=routing.reasons[i],
                p_error=p_error(line),
                bytes=len(crops[i].image) if routing.reasons[i] == UNSURE else 0,
            ),
        )
        for i, line in enumerate(page.lines)
    )
    return replace(page, lines=lines)


def sendings(
    lines: Sequence[Line], refine: Sequence[int], crops: Mapping[int, Crop]
) -> tuple[Sending, ...]:
    """What is sent of the lines chosen by a plan, in its order."""
    return tuple(
        Sending(
            index=i,
            quad=crops[i].quad,
            region=RegionImage(
                id=str(i),
                image=crops[i].image,
                format=FORMAT,
                margin=crops[i].margin,
                text=lines[i].text if (told := crops[i].text) is None else told,
                p_error=p_error(lines[i]),
                angle=lines[i].angle,
            ),
        )
        for i in refine
    )


def merge_reply(page: Page, sent: Sequence[Sending], reply: RefineReply) -> Page:
    """The page with every sane answer taken; why another was not stands in its line's route."""
    asked = {s.region.id for s in sent}
    answers = {r.id: r for r in reply.results if r.id in asked}
    lines = list(page.lines)
    for s in sent:
        answer = answers.get(s.region.id)
        if answer is not None:
            lines[s.index] = _merged(lines[s.index], answer, s.quad)
    return replace(page, lines=tuple(lines))


def changed_lines(before: Page, after: Page) -> int:
    """How many lines have another text."""
    return sum(a.text != b.text for a, b in zip(before.lines, after.lines, strict=True))


def _merged(line: Line, answer: Refined, quad: Quad) -> Line:
    reason = refusal(line, answer, both_calibrated=False)
    if reason is None:
        return take(line, answer, quad)
    assert line.route is not None
    return replace(line, route=replace(line.route, reason=f"{UNSURE}, refused: {reason}"))
