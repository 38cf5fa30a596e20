"""The newest results in memory, for those who ask, and news of them for those who listen.

One more sink of the agent: it gets each version as the others do. Bounded; a listener that does not
keep up is let go.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tierocr.edge.outbox.values import Due
from tierocr.edge.reading import with_rules
from tierocr.edge.sinks.contents import Original
from tierocr.shared.document import Document
from tierocr.shared.export.json import to_json

LISTENERS = 16
BACKLOG = 256
"""Events that a listener may be behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A version of a document is there."""

    id: str
    version: int
    status: str
    final: bool
    name: str
    source: str


Listener = asyncio.Queue["News | None"]


class Recent:
    """Keeps at most so many bytes of results, as JSON."""

    name = "api"

    def __init__(
        self,
        most_bytes: int,
        *,
        rules: Sequence[str] = (),
        on_version: Callable[[Document, bool], None] = lambda document, final: None,
    ) -> None:
        """`on_version`: told of each version, and whether it is the final one."""
        self._most, self._rules, self._on_version = most_bytes, tuple(rules), on_version
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._listeners: set[Listener] = set()
        self._arrived = asyncio.Condition()

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Let everybody go who listens."""
        for listener in list(self._listeners):
            self._tell(listener, None)

    def occupied(self, output: str) -> bool:
        """Names mean nothing here."""
        return False

    async def deliver(self, due: Due, original: Original) -> None:
        """Keep a version."""
        document = with_rules(due.document, self._rules)
        text = await asyncio.to_thread(to_json, document)
        self._keep(due.entry.id, text.encode(errors="backslashreplace"))
        self._on_version(document, due.delivery.final)
        news = News(
            id=due.entry.id,
            version=due.delivery.version,
            status=due.document.status,
            final=bool(due.delivery.final),
            name=due.entry.name.encode(errors="backslashreplace").decode(),
            source=due.entry.source,
        )
        for listener in list(self._listeners):
            self._tell(listener, news)
        async with self._arrived:
            self._arrived.notify_all()

    def find(self, document: str) -> bytes | None:
        """The newest version of a document as JSON, if it is still known."""
        return self._kept.get(document)

    async def wait_for(self, document: str) -> bytes:
        """The same once there is one."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: document in self._kept)
            return self._kept[document]

    @contextmanager
    def listening(self) -> Iterator[Listener | None]:
        """News from now on; None in the queue is the end. No queue where too many listen."""
        if len(self._listeners) >= LISTENERS:
            yield None
            return
        listener: Listener = asyncio.Queue(BACKLOG)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def _tell(self, listener: Listener, news: News | None) -> None:
        if listener.full():
            self._listeners.discard(listener)
            while not listener.empty():
                listener.get_nowait()
            news = None
        listener.put_nowait(news)

    def _keep(self, document: str, text: bytes) -> None:
        self._size -= len(self._kept.pop(document, b""))
        self._kept[document] = text
        self._size += len(text)
        while self._size > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._size -= len(gone)
