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
from tierocr.edge.planning import PlannedDocument, PlannedPage, Planner, planned_page
from tierocr.edge.rereading import read_again
from tierocr.edge.routing import RoutingPlan, RoutingPolicy
from tierocr.edge.sending import changed_lines, page_id, sent_bytes, sent_lines
from tierocr.shared.document import Document, Failure, Page
from tierocr.shared.errors import TierocrError
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
