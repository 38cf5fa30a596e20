"""How much one device may ask for: a token bucket for each.

Pure, time passed in; must not know about HTTP. A device that stays within its rate never notices;
one that goes beyond is told when it may come again, and costs the others nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tierocr.shared.errors import TierocrError

_ROUNDING = 1e-6  # of floating point: who comes when told to is let in


class OverQuota(TierocrError):
    """`rate_limited` with the seconds after which the device may come again."""

    def __init__(self, message: str, retry_after: int) -> None:
        """See the class."""
        super().__init__("rate_limited", message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """`per_second` in the long run, `burst` at once after a pause; per_second 0 means no limit."""

    per_second: float
    burst: float


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class Quotas:
    """What each device has left of one kind of thing. Not thread-safe: owned by one event loop."""

    def __init__(self, rate: Rate, what: str) -> None:
        """`what` names the things in messages."""
        self._rate, self._what = rate, what
        self._buckets: dict[str, _Bucket] = {}

    def take(self, device: str, count: float, now: float) -> None:
        """Take `count` things at `now` (seconds of one clock). Raises `OverQuota`, and then takes
        none.

        More than the burst at once is let through when the bucket is full, and paid for later:
        what may be asked for in one request is bounded elsewhere.
        """
        if not self._rate.per_second:
            return
        bucket = self._buckets.setdefault(device, _Bucket(self._rate.burst, now))
        level = self._level(bucket, now)
        needed = min(count, self._rate.burst)
        if level < needed - _ROUNDING:
            wait = (needed - level) / self._rate.per_second
            raise OverQuota(
                f"{self._rate.per_second:g} {self._what} a second are this device's quota",
                max(1, math.ceil(wait)),
            )
        bucket.level, bucket.at = level - count, now
        self._forget_full(now)

    def __len__(self) -> int:
        """How many devices are remembered: those whose bucket is not full."""
        return len(self._buckets)

    def _level(self, bucket: _Bucket, now: float) -> float:
        gained = max(0.0, now - bucket.at) * self._rate.per_second
        return min(self._rate.burst, bucket.level + gained)

    def _forget_full(self, now: float) -> None:
        """A device that is not remembered has a full bucket; looked at now and then."""
        if len(self._buckets) % 64 == 0:
            full = [d for d, b in self._buckets.items() if self._level(b, now) >= self._rate.burst]
            for device in full:
                del self._buckets[device]
