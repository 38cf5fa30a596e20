"""Documents as the edge reads and plans them, without a reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tests.fakes.documents import ENGINE
from tests.fakes.lines import read_line
from tierocr.edge.crops import Crop
from tierocr.edge.planning import PlannedDocument, planned_page
from tierocr.edge.routing import SURE, UNSURE, RoutingPlan, Spent
from tierocr.edge.sending import Sent, WholePage
from tierocr.shared.document import Failure, Page
from tierocr.shared.reading import document_of


def planned(
    data: bytes,
    *pages: Sequence[str],
    name: str = "scan.jpg",
    unsure: int = 1,
    crop: bytes = b"crop",
    failure: Failure | None = None,
) -> PlannedDocument:
    """A document of these lines; the first `unsure` lines of each page are to be read again."""
    found = []
    for n, texts in enumerate(pages):
        lines = tuple(read_line(text) for text in texts)
        page = Page(index=n, width=800, height=600, lines=lines)
        refine = tuple(range(min(unsure, len(lines))))
        reasons = {i: UNSURE if i in refine else SURE for i in range(len(lines))}
        crops = {i: Crop(quad=lines[i].region.quad, image=crop, margin=2.0) for i in refine}
        plan = RoutingPlan(refine=refine, reasons=reasons, spent=Spent())
        found.append(planned_page(page, plan, crops))
    document = document_of(
        name=name,
        sha256=hashlib.sha256(data).hexdigest(),
        engine=ENGINE,
        pages=[p.page for p in found],
        seconds={"read": 0.1},
        failure=failure,
    )
    return PlannedDocument(document=document, pages=tuple(found))


def told(sent: Sent) -> list[str]:
    """The edge's text of the lines that are sent; none are told of a whole page."""
    return [] if isinstance(sent, WholePage) else [s.region.text for s in sent]
