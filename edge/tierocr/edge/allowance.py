"""How much may be sent to the cloud, and when: token buckets, and other ones by time of day.

Pure, time passed in; must not know what is sent. A bucket holds what may be sent in an hour and
fills all the time. A call may begin while the bucket is not empty, and what it weighs beyond that
is waited for afterwards, so that nothing is too large to ever be sent. What was spent can be kept
and taken up again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

HOUR = 3600.0
LOOK_AGAIN = 60.0
"""Seconds after which a closed window is looked at again: clocks are set."""

EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be sent in an hour; None: without bound."""

    bytes_per_hour: int | None = None
    calls_per_hour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of the day, from minute `start` to before minute `end` of the local day; it may go
    over midnight. `days`: on which it begins, Monday is 0. `budget`: what holds in it, None:
    nothing is sent.
    """

    start: int
    end: int
    days: frozenset[int] = EVERY_DAY
    budget: Budget | None = None

    def holds(self, at: datetime) -> bool:
        """Whether a local time lies in it."""
        minute, today = at.hour * 60 + at.minute, at.weekday()
        if self.start < self.end:
            return today in self.days and self.start <= minute < self.end
        yesterday = (today - 1) % 7
        return (today in self.days and minute >= self.start) or (
            yesterday in self.days and minute < self.end
        )


@dataclass(slots=True)
class _Bucket:
    """What is left, in shares of what an hour brings; negative: more was sent than there was."""

    bytes: float = 1.0
    calls: float = 1.0
    at: float = 0.0


class Allowance:
    """What one device may send. Times are seconds since the epoch, and the same as local time."""

    def __init__(
        self, budget: Budget | None = None, windows: Sequence[Window] = (), kept: str | None = None
    ) -> None:
        """`budget`: outside the windows, of which the first that holds counts. `kept`: what
        `dump` gave.
        """
        self._budget, self._windows = budget or Budget(), tuple(windows)
        self._buckets = _load(kept)

    def wait(self, now: float, local: datetime) -> float:
        """Seconds until a call may begin, or until that should be asked again; 0: it may now."""
        name, budget = self._in_force(local)
        if budget is None:
            return LOOK_AGAIN
        bucket = self._filled(name, now)
        waits = [0.0]
        if budget.bytes_per_hour is not None:
            waits.append(_until(bucket.bytes, 1, budget.bytes_per_hour))
        if budget.calls_per_hour is not None:
            waits.append(_until(bucket.calls, 1, budget.calls_per_hour))
        return min(max(waits), LOOK_AGAIN)

    def take(self, size: int, now: float, local: datetime) -> None:
        """A call of so many bytes goes out."""
        name, budget = self._in_force(local)
        if budget is None:  # it was begun before the window closed, and is sent again
            return
        bucket = self._filled(name, now)
        bucket.bytes -= size / budget.bytes_per_hour if budget.bytes_per_hour else 0.0
        bucket.calls -= 1 / budget.calls_per_hour if budget.calls_per_hour else 0.0
        self._buckets[name] = bucket

    def dump(self) -> str:
        """What was spent, for a later start."""
        return json.dumps({n: [b.bytes, b.calls, b.at] for n, b in self._buckets.items()})

    def _in_force(self, local: datetime) -> tuple[str, Budget | None]:
        """The budget that counts, and the name of its bucket: with other figures it is another."""
        window = next((w for w in self._windows if w.holds(local)), None)
        budget = window.budget if window else self._budget
        if budget is None:
            return "", None
        place = f"{window.start}-{window.end}" if window else "else"
        return f"{place} {budget.bytes_per_hour} {budget.calls_per_hour}", budget

    def _filled(self, name: str, now: float) -> _Bucket:
        """A bucket with what the time since has brought; a clock that was set back brings
        nothing.
        """
        kept = self._buckets.get(name, _Bucket(at=now))
        gained = max(0.0, now - kept.at) / HOUR
        return _Bucket(min(1.0, kept.bytes + gained), min(1.0, kept.calls + gained), now)


def _until(level: float, needed: int, per_hour: int) -> float:
    """Seconds until there is so much; nothing ever comes where none is allowed."""
    if per_hour <= 0:
        return LOOK_AGAIN
    missing = needed / per_hour - level
    return missing * HOUR if missing > 1e-9 else 0.0


def _load(kept: str | None) -> dict[str, _Bucket]:
    try:
        found: dict[str, Any] = json.loads(kept or "{}")
        return {n: _Bucket(*(float(v) for v in values)) for n, values in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
