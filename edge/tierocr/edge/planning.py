"""What leaves of each page that was read, decided and encoded: the join of routing and the doors.

Pixels and lines in, what may be sent out; what was spent is counted over all pages. Must not know
when it is sent, or to whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierocr.edge.crops import Crop
from tierocr.edge.leaving import Leave, LeavePage, no_page, plain_lines
from tierocr.edge.routing import (
    RoutingPlan,
    RoutingPolicy,
    Spent,
    allowed_bytes,
    allowed_lines,
    candidates,
    plan,
    plan_whole,
    wants_whole,
)
from tierocr.edge.sending import Sent, routed, routed_whole, sendings, whole_page
from tierocr.edge.tally import dump
from tierocr.shared.document import Document, Page, PageImage, Pixels
from tierocr.shared.export.pictures import upright


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPage:
    """A page as the edge read it, and what of it is to be read again."""

    page: Page
    sent: Sent = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDocument:
    """A complete document of the edge alone, with what may be sent of each of its pages."""

    document: Document
    pages: tuple[PlannedPage, ...]


class Planner:
    """Decides what leaves of each page; counts what was spent over all of them. One page at a
    time.
    """

    def __init__(
        self,
        policy: RoutingPolicy,
        leave: Leave = plain_lines,
        leave_page: LeavePage = no_page,
        spent: Spent | None = None,
    ) -> None:
        """`leave`, `leave_page`: the doors; see `leaving`. `spent`: where an earlier run stopped
        counting.
        """
        self._policy, self._leave, self._leave_page = policy, leave, leave_page
        self.spent = spent or Spent()

    @property
    def tally(self) -> str:
        """What was spent so far, as a note."""
        return dump(self._policy, self.spent)

    def plan(self, image: PageImage, page: Page, source: str = "") -> PlannedPage:
        """Encode what may leave and choose among it; books what will be spent. `source`: where the
        page came from.
        """
        pixels = upright(image, page)
        if wants_whole(page.lines, self._policy) and allowed_bytes(self._policy, self.spent) > 0:
            planned = self._plan_whole(pixels, page, source)
            if planned is not None:
                return planned
        return self._plan_lines(pixels, page, source) if page.lines else PlannedPage(page=page)

    def _plan_whole(self, pixels: Pixels, page: Page, source: str) -> PlannedPage | None:
        """The page as a whole; None where it may not leave, or is too much."""
        crop = self._leave_page(pixels, page.lines, source)
        if crop is None:
            return None
        shown = [line for i, line in enumerate(page.lines) if i not in crop.stay]
        if page.lines and not (shown and wants_whole(shown, self._policy)):
            return None  # what is doubtful on it is hidden
        size = len(crop.image)
        routing = plan_whole(page.lines, size, self._policy, self.spent, crop.stay)
        if routing is None:
            return None
        self.spent = routing.spent
        unsure = candidates(page.lines, self._policy)
        return PlannedPage(
            page=routed_whole(page, routing, size),
            sent=whole_page(crop, unsure, len(page.lines)),
        )

    def _plan_lines(self, pixels: Pixels, page: Page, source: str) -> PlannedPage:
        allowed = allowed_lines(len(page.lines), self._policy, self.spent)
        chosen = candidates(page.lines, self._policy)[:allowed]
        crops = self._leave(pixels, page.lines, chosen, source)
        sizes = {i: len(crop.image) for i, crop in crops.items()}
        stay = frozenset(i for i in chosen if i not in crops)
        routing = plan(page.lines, sizes, self._policy, self.spent, stay)
        self.spent = routing.spent
        return planned_page(page, routing, crops)


def planned_page(page: Page, routing: RoutingPlan, crops: Mapping[int, Crop]) -> PlannedPage:
    """The page with its routes, and what the plan sends of it."""
    return PlannedPage(
        page=routed(page, routing, crops), sent=sendings(page.lines, routing.refine, crops)
    )
