"""One page to the cloud and back: what is sent of it is read again and merged.

Joins the refiner and the decisions about its answers. Must not know who keeps the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tierocr.edge.sending import Sent, WholePage, merge_reply
from tierocr.edge.whole_pages import merge_whole
from tierocr.shared.document import Page
from tierocr.shared.protocol import PageRef

if TYPE_CHECKING:
    from tierocr.edge.refining import Refiner


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgain:
    """The page as it is with the cloud's answers; `request_id`: how the request was called."""

    page: Page
    request_id: str


async def read_again(refiner: Refiner, page: Page, sent: Sent, name: str) -> ReadAgain:
    """Have what is sent of a page read again. `name`: see `page_id`. Raises TierocrError like the
    refiner.
    """
    ref = PageRef(id=name, width=page.width, height=page.height)
    if isinstance(sent, WholePage):
        answer = await refiner.read_page(ref, sent.image, sent.format)
        return ReadAgain(page=merge_whole(page, sent, answer.page), request_id=answer.request_id)
    reply = await refiner.refine(ref, tuple(s.region for s in sent))
    return ReadAgain(page=merge_reply(page, sent, reply), request_id=reply.request_id)
