"""Which crops go to the device together, and when.

Pure: a synchronous function of values, time included; must not know about asyncio, pixels or
networks. Crops are bucketed by quantised input width first, so what a crop is padded to never
depends on its neighbours. Owners take rounds: in each, everyone's most urgent work up to one full
batch comes before anyone's work beyond it, and within a round the earliest deadline goes first. So
an owner who sends a flood waits for itself. (Rounds are the start tags of start-time fair queuing,
Goyal, Vin and Cheng, SIGCOMM 1996, in units of a batch.)
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from tierocr.shared.errors import TierocrError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One crop in the queue. Times are seconds of one monotonic clock.

    `key`: unique among the entries, and growing with their order. `cost`: padded input columns.
    `owner`: whose share of the device it takes.
    """

    key: int
    bucket: int
    cost: int
    deadline: float
    arrived: float
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do now: launch `batch` (most urgent first), give up on `expired`.

    `wake_at`: when to ask again if nothing is added or finished before; None for "not by itself".
    """

    batch: tuple[Entry, ...] = ()
    expired: tuple[Entry, ...] = ()
    wake_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """`max_entries` bounds the queue; the others close a batch.

    `mixed`: a batch may hold several buckets, which the device reads one after another. The most
    urgent work is then read first whatever its width, where calls of a few crops cost no more.
    """

    max_entries: int
    max_batch: int = 8
    max_wait: float = 0.05
    max_cost: int = 16_384
    mixed: bool = False


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
    when the device is idle. Of the buckets that may close, the one with the entry of the earliest
    round and deadline goes first.
    """

    def __init__(self, limits: BatchLimits) -> None:
        """An empty queue."""
        self._limits = limits
        self._entries: dict[int, Entry] = {}
        self._urgent: list[Entry] = []
        """All entries, the earliest deadline first."""
        self._now_at = 0.0
        """How much work a share has had: what is launched now stands there, for every owner."""
        self._ahead: dict[str, float] = {}
        """Where the next entry of an owner stands who is ahead of that."""

    def add(self, entry: Entry) -> None:
        """See `Batcher.add`."""
        if len(self._entries) >= self._limits.max_entries:
            raise TierocrError("over_capacity", f"{len(self._entries)} crops are waiting")
        if entry.key in self._entries:
            raise ValueError(f"entry {entry.key} is queued already")
        self._entries[entry.key] = entry
        insort(self._urgent, entry, key=_urgency)

    def cancel(self, key: int) -> bool:
        """See `Batcher.cancel`."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        self._take((entry,))
        return True

    def next_batch(self, now: float, *, idle: bool) -> Decision:
        """See `Batcher.next_batch`."""
        expired = tuple(takewhile(lambda e: e.deadline <= now, self._urgent))
        self._take(expired)
        starts = self._starts()
        queues = self._queues(starts)
        heads = {bucket: self._head(queue) for bucket, queue in queues.items()}
        ready = [b for b, head in heads.items() if idle or self._is_due(queues[b], head, now)]
        if not ready:
            return Decision(expired=expired, wake_at=self._wake_at())
        # the queues stand in the order of their heads' ranks
        batch = heads[next(bucket for bucket in queues if bucket in ready)]
        self._take(batch)
        self._book(batch, starts)
        return Decision(batch=batch, expired=expired)

    def depths(self) -> Mapping[int, int]:
        """See `Batcher.depths`."""
        return Counter(entry.bucket for entry in self._urgent)

    def _starts(self) -> dict[int, float]:
        """By key, how much work of the same owner goes before, on the scale of `_now_at`."""
        position: dict[str, float] = {}
        starts: dict[int, float] = {}
        for entry in self._urgent:
            at = position.get(entry.owner)
            if at is None:
                at = max(self._now_at, self._ahead.get(entry.owner, 0.0))
            starts[entry.key] = at
            position[entry.owner] = at + entry.cost
        return starts

    def _queues(self, starts: Mapping[int, float]) -> dict[int, list[Entry]]:
        """The entries that may share a batch, those of the earliest round and deadline first."""
        round_cost = self._limits.max_cost
        # sorting is stable: inside a round the order of deadlines stays
        ranked = sorted(self._urgent, key=lambda e: starts[e.key] // round_cost)
        queues: dict[int, list[Entry]] = {}
        for entry in ranked:
            queues.setdefault(0 if self._limits.mixed else entry.bucket, []).append(entry)
        return queues

    def _head(self, queue: list[Entry]) -> tuple[Entry, ...]:
        """The first entries that fit into one batch, at least one."""
        cost, size = 0, 0
        for entry in queue[: self._limits.max_batch]:
            cost += entry.cost
            if size and cost > self._limits.max_cost:
                break
            size += 1
        return tuple(queue[:size])

    def _is_due(self, queue: list[Entry], head: tuple[Entry, ...], now: float) -> bool:
        full = len(head) == self._limits.max_batch or len(head) < len(queue)
        return full or _oldest(queue) + self._limits.max_wait <= now

    def _wake_at(self) -> float | None:
        """When the next batch becomes due, or the next entry expires."""
        if not self._entries:
            return None
        due = _oldest(self._urgent) + self._limits.max_wait
        return min(due, self._urgent[0].deadline)

    def _book(self, batch: tuple[Entry, ...], starts: Mapping[int, float]) -> None:
        """Each owner pays for its part; who comes from now on stands no further ahead."""
        for entry in batch:
            at = max(self._now_at, self._ahead.get(entry.owner, 0.0))
            self._ahead[entry.owner] = at + entry.cost
        self._now_at = max(self._now_at, min(starts[e.key] for e in batch))
        self._ahead = {o: at for o, at in self._ahead.items() if at > self._now_at}

    def _take(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            del self._entries[entry.key]
            self._urgent.remove(entry)
        if not self._entries:  # nobody is ahead of anybody
            self._now_at = 0.0
            self._ahead.clear()


def _urgency(entry: Entry) -> tuple[float, int]:
    return entry.deadline, entry.key


def _oldest(queue: list[Entry]) -> float:
    return min(e.arrived for e in queue)
