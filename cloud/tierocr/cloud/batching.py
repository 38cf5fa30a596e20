"""Which crops go to the device together, and when.

Pure: a synchronous function of values, time included; must not know about asyncio, pixels or
networks. Crops are bucketed by quantised input width first, so what a crop is padded to never
depends on its neighbours; inside a bucket the earliest deadline goes first.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tierocr.shared.errors import TierocrError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One crop in the queue. Times are seconds of one monotonic clock.

    `key`: unique among the entries, and growing with their order. `cost`: padded input columns.
    """

    key: int
    bucket: int
    cost: int
    deadline: float
    arrived: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do now: launch `batch` (one bucket, most urgent first), give up on `expired`.

    `wake_at`: when to ask again if nothing is added or finished before; None for "not by itself".
    """

    batch: tuple[Entry, ...] = ()
    expired: tuple[Entry, ...] = ()
    wake_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """`max_entries` bounds the queue; the others close a batch."""

    max_entries: int
    max_batch: int = 8
    max_wait: float = 0.05
    max_cost: int = 16_384


class Batcher(Protocol):
    """Decides what is launched. Not thread-safe: owned by one event loop."""

    def add(self, entry: Entry) -> None:
        """Queue an entry. Raises TierocrError `over_capacity` when the queue is full."""
        ...

    def cancel(self, key: int) -> bool:
        """Forget an entry; False if it is not queued any more."""
        ...

    def next_batch(self, now: float, *, idle: bool) -> Decision:
        """Take what should be launched now out of the queue. `idle`: the device has nothing to
        do.
        """
        ...

    def depths(self) -> Mapping[int, int]:
        """Queued entries by bucket; buckets without any are left out."""
        ...


class DeadlineBatcher:
    """A batch closes when it is full, when its oldest entry has waited long enough, or at once
    when the device is idle. Of the buckets that may close, the one with the most urgent entry goes
    first.
    """

    def __init__(self, limits: BatchLimits) -> None:
        """An empty queue."""
        self._limits = limits
        self._queues: dict[int, list[Entry]] = {}
        self._entries: dict[int, Entry] = {}

    def add(self, entry: Entry) -> None:
        """See `Batcher.add`."""
        if len(self._entries) >= self._limits.max_entries:
            raise TierocrError("over_capacity", f"{len(self._entries)} crops are waiting")
        if entry.key in self._entries:
            raise ValueError(f"entry {entry.key} is queued already")
        self._entries[entry.key] = entry
        insort(self._queues.setdefault(entry.bucket, []), entry, key=_urgency)

    def cancel(self, key: int) -> bool:
        """See `Batcher.cancel`."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        self._take((entry,))
        return True

    def next_batch(self, now: float, *, idle: bool) -> Decision:
        """See `Batcher.next_batch`."""
        expired = tuple(e for e in self._entries.values() if e.deadline <= now)
        self._take(expired)
        heads = {bucket: self._head(queue) for bucket, queue in self._queues.items()}
        ready = [b for b, head in heads.items() if idle or self._is_due(b, head, now)]
        if not ready:
            return Decision(expired=expired, wake_at=self._wake_at())
        chosen = min(ready, key=lambda bucket: _urgency(self._queues[bucket][0]))
        self._take(heads[chosen])
        return Decision(batch=heads[chosen], expired=expired)

    def depths(self) -> Mapping[int, int]:
        """See `Batcher.depths`."""
        return {bucket: len(queue) for bucket, queue in self._queues.items()}

    def _head(self, queue: list[Entry]) -> tuple[Entry, ...]:
        """The most urgent entries that fit into one batch, at least one."""
        cost, size = 0, 0
        for entry in queue[: self._limits.max_batch]:
            cost += entry.cost
            if size and cost > self._limits.max_cost:
                break
            size += 1
        return tuple(queue[:size])

    def _is_due(self, bucket: int, head: tuple[Entry, ...], now: float) -> bool:
        queue = self._queues[bucket]
        full = len(head) == self._limits.max_batch or len(head) < len(queue)
        return full or _oldest(queue) + self._limits.max_wait <= now

    def _wake_at(self) -> float | None:
        """When the next batch becomes due, or the next entry expires."""
        if not self._entries:
            return None
        due = min(_oldest(queue) for queue in self._queues.values()) + self._limits.max_wait
        return min(due, min(e.deadline for e in self._entries.values()))

    def _take(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            del self._entries[entry.key]
            queue = self._queues[entry.bucket]
            queue.remove(entry)
            if not queue:
                del self._queues[entry.bucket]


def _urgency(entry: Entry) -> tuple[float, int]:
    return entry.deadline, entry.key


def _oldest(queue: list[Entry]) -> float:
    return min(e.arrived for e in queue)
