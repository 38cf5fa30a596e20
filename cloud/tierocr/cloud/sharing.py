"""Equal work that is asked for at the same time is done once.

The work belongs to nobody: it goes on as long as one of those who asked still waits, and is given
up with the last of them. Must not know what the work is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _UnderWay(Generic[T]):
    task: asyncio.Task[T]
    deadline: float
    waiting: int = 0


class Sharing(Generic[T]):
    """Work under way, by what it is about. Not thread-safe: owned by one event loop."""

    def __init__(self) -> None:
        """Nothing is under way."""
        self._under_way: dict[Hashable, _UnderWay[T]] = {}
        self.shared = 0
        """How often somebody got what was under way already."""

    async def do(
        self, key: Hashable, deadline: float, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        """What `work` gives, begun now or by somebody else who gave it at least as much time.

        Raises what `work` raises.
        """
        found = self._under_way.get(key)
        if found is None or found.task.done() or found.deadline < deadline:
            found = _UnderWay(asyncio.create_task(work()), deadline)
            self._under_way[key] = found
        else:
            self.shared += 1
        found.waiting += 1
        try:
            return await asyncio.shield(found.task)
        finally:
            found.waiting -= 1
            if not found.waiting:
                found.task.cancel()  # does nothing to work that is done
                if self._under_way.get(key) is found:
                    del self._under_way[key]

    def __len__(self) -> int:
        """How much is under way."""
        return len(self._under_way)
