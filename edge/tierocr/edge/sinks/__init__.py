"""Where documents go: folders, webhooks, standard output.

`contents` and `signing` decide what is written and sent (pure); the others do it. A sink is given a
version of a document until it confirms it, and may be given the same version again.
"""

from __future__ import annotations

from typing import Protocol

from tierocr.edge.outbox.values import Due
from tierocr.edge.sinks.contents import Original


class Undelivered(Exception):
    """A version has not arrived. `retry_after`: seconds that the sink asked for; `hopeless`: it
    will never take this version, whatever the settings.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, hopeless: bool = False
    ) -> None:
        """See the class."""
        super().__init__(message)
        self.retry_after, self.hopeless = retry_after, hopeless


class Sink(Protocol):
    """One place. `name` stays the same as long as it is the same place."""

    name: str

    async def open(self) -> None:
        """Before the first delivery."""

    async def close(self) -> None:
        """After the last."""

    def occupied(self, output: str) -> bool:
        """Whether somebody else's document has that name there."""

    async def deliver(self, due: Due, original: Original) -> None:
        """The version has arrived once this returns. Raises Undelivered."""
