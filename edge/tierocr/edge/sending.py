"""What is sent of a page, and the page once the answers are there. Pure.

A `Sending` holds all that a later answer needs besides the page itself, so that a page can be
refined at once or, from what was stored, weeks later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tierocr.edge.crops import FORMAT, Crop, PageCrop
from tierocr.edge.merging import refusal, take
from tierocr.edge.routing import UNSURE, WHOLE, RoutingPlan, p_error
from tierocr.shared.document import CLOUD, Line, Page, Quad, Route
from tierocr.shared.protocol import Refined, RefineReply, RegionImage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sending:
    """One line to be read again: its index on the page, the place that was cut, what is sent."""

    index: int
    quad: Quad
    region: RegionImage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholePage:
    """A page to be read again as a whole: its encoded picture. Indices of its lines: `stay` are
    painted over in the picture, of `sure` the edge has no doubt.
    """

    image: bytes
    format: str
    width: int
    height: int
    stay: frozenset[int] = frozenset()
    sure: frozenset[int] = frozenset()


Sent = tuple[Sending, ...] | WholePage
"""What of a page is to be read again: some of its lines, or all of it; empty for nothing."""


def sent_lines(page: Page, sent: Sent) -> int:
    """How many lines of a page that is."""
    return len(page.lines) - len(sent.stay) if isinstance(sent, WholePage) else len(sent)


def sent_bytes(sent: Sent) -> int:
    """How many encoded bytes."""
    if isinstance(sent, WholePage):
        return len(sent.image)
    return sum(len(s.region.image) for s in sent)


def page_id(sha256: str, index: int) -> str:
    """How a page is called on the wire: the same bytes give the same name. `sha256`: of its
    file.
    """
    return f"{sha256[:32]}/{index}"


def routed(page: Page, routing: RoutingPlan, crops: Mapping[int, Crop]) -> Page:
    """The page with a route on every line."""
    sent = [i for i, reason in routing.reasons.items() if reason == UNSURE]
    return _with_routes(page, routing, {i: len(crops[i].image) for i in sent})


def routed_whole(page: Page, routing: RoutingPlan, size: int) -> Page:
    """The page with a route on every line; the bytes of its picture are shared among them."""
    sent = [i for i, reason in routing.reasons.items() if reason == WHOLE]
    return _with_routes(page, routing, {i: size // len(sent) for i in sent})


def _with_routes(page: Page, routing: RoutingPlan, sizes: Mapping[int, int]) -> Page:
    """`sizes`: bytes that go out for a line, by index; none for the others."""
    lines = tuple(
        replace(
            line,
            route=Route(reason=routing.reasons[i], p_error=p_error(line), bytes=sizes.get(i, 0)),
        )
        for i, line in enumerate(page.lines)
    )
    return replace(page, lines=lines)


def whole_page(crop: PageCrop, unsure: Collection[int], lines: int) -> WholePage:
    """What is sent of a page with so many lines as a whole."""
    return WholePage(
        image=crop.image,
        format=FORMAT,
        width=crop.width,
        height=crop.height,
        stay=crop.stay,
        sure=frozenset(range(lines)).difference(unsure),
    )


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
                text=lines[i].text,
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


def changed(line: Line) -> bool:
    """Whether the cloud gave a line another text than the edge had read there."""
    return line.source == CLOUD and all(a.text != line.text for a in line.alternatives)


def changed_lines(page: Page) -> int:
    """How many lines have another text than the edge had read."""
    return sum(map(changed, page.lines))


def _merged(line: Line, answer: Refined, quad: Quad) -> Line:
    reason = refusal(line, answer, both_calibrated=False)
    if reason is None:
        return take(line, answer, quad)
    assert line.route is not None
    return replace(line, route=replace(line.route, reason=f"{UNSURE}, refused: {reason}"))
