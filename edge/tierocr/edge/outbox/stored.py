"""A planned document as the outbox stores it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tierocr.edge.outbox.crops_file import pack_sent
from tierocr.edge.outbox.documents import PageRow, packed
from tierocr.edge.outbox.rendering import head_of, tree_of
from tierocr.edge.planning import PlannedDocument, PlannedPage
from tierocr.edge.routing import p_error
from tierocr.edge.sending import WholePage


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Packed head and pages, and by page what is to be sent. `dropped`: there was no room for
    that.
    """

    head: bytes
    pages: tuple[PageRow, ...]
    crops: dict[int, bytes]
    dropped: bool = False

    @classmethod
    def of(cls, planned: PlannedDocument) -> Stored:
        """Everything of it."""
        crops = {p.page.index: pack_sent(p.sent) for p in planned.pages if p.sent}
        rows = [_row(p, len(crops.get(p.page.index, b""))) for p in planned.pages]
        return cls(head=packed(head_of(planned.document)), pages=tuple(rows), crops=crops)

    @property
    def content_bytes(self) -> int:
        """What is never given up."""
        return len(self.head) + sum(len(p.content) for p in self.pages)

    @property
    def crop_bytes(self) -> int:
        """What waits to be sent."""
        return sum(map(len, self.crops.values()))

    @property
    def gain(self) -> float:
        """How many wrong lines sending it might mend."""
        return sum(p.gain for p in self.pages)

    def without_crops(self) -> Stored:
        """The same, nothing of it to be sent."""
        pages = tuple(replace(p, waiting=False, bytes=0) for p in self.pages)
        return replace(self, pages=pages, crops={}, dropped=bool(self.crops))


def _row(planned: PlannedPage, size: int) -> PageRow:
    return PageRow(
        n=planned.page.index,
        content=packed(tree_of(planned.page)),
        waiting=bool(planned.sent),
        bytes=size,
        gain=_gain(planned),
    )


def _gain(planned: PlannedPage) -> float:
    """How many wrong lines sending it might mend; a page without lines lacks one at least."""
    sent = planned.sent
    if not isinstance(sent, WholePage):
        return sum(s.region.p_error for s in sent)
    lines = [line for i, line in enumerate(planned.page.lines) if i not in sent.stay]
    return max(1.0, sum(map(p_error, lines)))
