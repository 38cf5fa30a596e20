"""What goes into the outbox and comes out of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tierocr.edge.outbox.choices import Bounds, Load
from tierocr.edge.outbox.deliveries import Delivery
from tierocr.edge.outbox.seen import Seen
from tierocr.edge.outbox.states import Entry
from tierocr.edge.sending import Sent
from tierocr.shared.document import Document, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the outbox behaves. `expire_seconds`: how long a document waits for the cloud;
    `free_bytes`: what must stay free on the disk for a document to come in; `keep_originals`: the
    files themselves are kept until the last delivery; `history`: how many finished documents are
    remembered, and for `history_seconds`, so that their bytes are known when they come again.
    """

    bounds: Bounds
    expire_seconds: float = 7 * 86_400
    free_bytes: int = 64 << 20
    keep_originals: bool = False
    history: int = 100_000
    history_seconds: float = 90 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Where a document came from. `name`: relative to its source; `seen`: the file that it was."""

    source: str
    name: str
    seen: Seen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of an arrival: the document, whether it was there already, whose refinement was
    dropped for it, its own perhaps.
    """

    entry: Entry
    duplicate: bool = False
    dropped: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A page of which something is to be sent now. `attempts`: how often it was sent in vain."""

    entry: Entry
    page: Page
    sent: Sent
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A version that is to be delivered now."""

    delivery: Delivery
    entry: Entry
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """For people and metrics. `oldest`: seconds since the oldest document came."""

    load: Load
    oldest: float
    waiting_documents: int
    pending: dict[str, int]


def document_id(data: bytes) -> tuple[str, str]:
    """The id of the document that these bytes are, and their digest."""
    sha256 = hashlib.sha256(data).hexdigest()
    return f"sha256-{sha256[:32]}", sha256
