"""The join of the two tiers for one input: read every page here, have the unsure lines read
again, merge.

A document is complete as soon as the edge has read it. Refinement runs beside the reading of
later pages, or later from what was planned, and can only improve lines; whatever goes wrong with
it becomes a warning.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tierocr.edge.crops import Crop
from tierocr.edge.leaving import Leave, LeavePage, no_page, plain_lines
from tierocr.edge.paging import PageReader, without_image
from tierocr.edge.rereading import read_again
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
from tierocr.edge.sending import (
    Sent,
    changed_lines,
    page_id,
    routed,
    routed_whole,
    sendings,
    sent_bytes,
    sent_lines,
    whole_page,
)
from tierocr.edge.tally import dump
from tierocr.shared.document import Document, Failure, Page, PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.pictures import upright as upright
from tierocr.shared.images import Limits
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.reading import ReadPage, document_of, total_seconds

if TYPE_CHECKING:
    from tierocr.edge.refining import Refiner


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How inputs are read: limits, whether a file's own text is used, what is sent, and the doors
    through which it leaves.
    """

    limits: Limits = field(default_factory=Limits)
    text_layer: bool = False
    policy: RoutingPolicy = field(default_factory=RoutingPolicy)
    leave: Leave = plain_lines
    leave_page: LeavePage = no_page


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """What one page sent and what came back."""

    page: Page
    sent_lines: int = 0
    sent_bytes: int = 0
    changed: int = 0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredDocument:
    """A finished document with what its refinement cost."""

    document: Document
    edge_pages: tuple[Page, ...]
    refinements: tuple[Refinement, ...]


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


class TieredReader:
    """Reads inputs with one reader and, if given, one refiner; several inputs may be in flight.

    What was spent is counted over all inputs.
    """

    def __init__(
        self,
        reader: Reader,
        refiner: Refiner | None = None,
        options: ReadOptions | None = None,
        *,
        planner: Planner | None = None,
    ) -> None:
        """Wire the tiers. With a refiner or a planner unsure lines are planned; without either
        nothing leaves the device.
        """
        options = options or ReadOptions()
        self._refiner = refiner
        self._planner = planner
        if refiner is not None and planner is None:
            self._planner = Planner(options.policy, options.leave, options.leave_page)
        self._booking = asyncio.Lock()  # from looking at what was spent to booking what will be
        self._paging = PageReader(reader, options.limits, text_layer=options.text_layer)

    @property
    def tally(self) -> str | None:
        """What plans have spent so far, as a note; None where nothing is planned."""
        return None if self._planner is None else self._planner.tally

    def close(self) -> None:
        """Stop the threads; nothing may be in flight."""
        self._paging.close()

    async def read(self, data: bytes, name: str) -> TieredDocument:
        """Read one input, in both tiers at once. A file that cannot be decoded gives a document
        with status "failed".

        Raises TierocrError only when the edge's own engine fails.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        read: list[ReadPage] = []
        refining: list[asyncio.Task[Refinement]] = []

        def begin(page: ReadPage, planned: PlannedPage) -> None:
            read.append(page)
            refining.append(asyncio.create_task(self._refined(planned, sha256)))

        failure = await self._each_page(data, begin)
        refinements = await asyncio.gather(*refining)
        document = document_of(
            name=name,
            sha256=sha256,
            engine=self._paging.info,
            pages=[r.page for r in refinements],
            seconds=total_seconds(p.seconds for p in read),
            failure=failure,
            errors=_distinct(r.failure for r in refinements),
        )
        return TieredDocument(
            document=document,
            edge_pages=tuple(p.page for p in read),
            refinements=tuple(refinements),
        )

    async def read_here(
        self, data: bytes, name: str, source: str = "", *, send: bool = True
    ) -> PlannedDocument:
        """Read one input on the edge alone, and plan what may be sent later; otherwise like
        `read`. `source`: where it came from, as rules about what may leave name it. `send`: False
        where nothing of it will be sent.
        """
        read: list[ReadPage] = []
        planned: list[PlannedPage] = []

        def keep(page: ReadPage, plan: PlannedPage) -> None:
            read.append(page)
            planned.append(plan)

        failure = await self._each_page(data, keep, source, send=send)
        document = document_of(
            name=name,
            sha256=hashlib.sha256(data).hexdigest(),
            engine=self._paging.info,
            pages=[p.page for p in planned],
            seconds=total_seconds(p.seconds for p in read),
            failure=failure,
        )
        return PlannedDocument(document=document, pages=tuple(planned))

    def unread(self, data: bytes, name: str, failure: Failure) -> PlannedDocument:
        """The document of an input that the engine cannot read."""
        sha256 = hashlib.sha256(data).hexdigest()
        engine = self._paging.info
        document = document_of(
            name=name, sha256=sha256, engine=engine, pages=(), seconds={}, failure=failure
        )
        return PlannedDocument(document=document, pages=())

    async def _each_page(
        self,
        data: bytes,
        then: Callable[[ReadPage, PlannedPage], None],
        source: str = "",
        *,
        send: bool = True,
    ) -> Failure | None:
        """Read and plan page by page; returns why there are no more, if that is a failure."""
        try:
            async for page in self._paging.pages(data):
                plan = await self._plan(page, source) if send else PlannedPage(page=page.page)
                then(without_image(page), plan)
        except TierocrError as error:
            if error.code == "internal":
                raise
            return Failure(code=error.code, message=error.message)
        return None

    async def _plan(self, read: ReadPage, source: str) -> PlannedPage:
        if self._planner is None or read.image is None or read.page.error is not None:
            return PlannedPage(page=read.page)
        async with self._booking:
            return await self._paging.work(self._planner.plan, read.image, read.page, source)

    async def _refined(self, planned: PlannedPage, sha256: str) -> Refinement:
        if self._refiner is None:
            return Refinement(page=planned.page)
        return await _refine(self._refiner, planned, page_id(sha256, planned.page.index))


def planned_page(page: Page, routing: RoutingPlan, crops: Mapping[int, Crop]) -> PlannedPage:
    """The page with its routes, and what the plan sends of it."""
    return PlannedPage(
        page=routed(page, routing, crops), sent=sendings(page.lines, routing.refine, crops)
    )


async def refine_page(
    refiner: Refiner, page: Page, routing: RoutingPlan, crops: Mapping[int, Crop], page_id: str
) -> Refinement:
    """Send what was planned and merge what comes back; never raises TierocrError."""
    return await _refine(refiner, planned_page(page, routing, crops), page_id)


async def _refine(refiner: Refiner, planned: PlannedPage, page_id: str) -> Refinement:
    page, sent = planned.page, planned.sent
    kept = Refinement(page=page)
    if not sent:
        return kept
    cost = replace(kept, sent_lines=sent_lines(page, sent), sent_bytes=sent_bytes(sent))
    try:
        answer = await read_again(refiner, page, sent, page_id)
    except TierocrError as error:
        return replace(cost, failure=Failure(code=error.code, message=error.message))
    return replace(cost, page=answer.page, changed=changed_lines(answer.page))


def _distinct(failures: Iterable[Failure | None]) -> list[Failure]:
    return list(dict.fromkeys(f for f in failures if f is not None))
