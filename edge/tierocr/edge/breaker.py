"""A circuit breaker: whether the cloud is worth calling now.

Pure; time in seconds is passed in. After some failures in a row the circuit is open: nothing is
sent until a rest is over, then one probe decides. A dead cloud so costs one deadline, not one
per page.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Breaker:
    """Open after `failures_to_open` failures in a row, for `rest` seconds."""

    failures_to_open: int = 3
    rest: float = 30.0
    _failures: int = 0
    _opened_at: float | None = None
    _probing: bool = False

    def allows(self, now: float) -> bool:
        """Whether a call may be made now; after the rest, one caller gets True and is the probe."""
        if self._opened_at is None:
            return True
        if now - self._opened_at < self.rest or self._probing:
            return False
        self._probing = True
        return True

    @property
    def closed(self) -> bool:
        """Whether calls go through as if nothing had happened."""
        return self._opened_at is None

    def rests(self, now: float) -> float:
        """Seconds until a call may be made again, 0 where one may now. Asks for nothing."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + self.rest - now)

    def succeeded(self) -> None:
        """A call was answered: the circuit closes."""
        self._failures, self._opened_at, self._probing = 0, None, False

    def gave_up(self) -> None:
        """The caller did not wait for the answer: nothing was learnt, another may probe."""
        self._probing = False

    def failed(self, now: float) -> None:
        """A call failed: the circuit opens, or stays open, from now on."""
        self._failures += 1
        self._probing = False
        if self._opened_at is not None or self._failures >= self.failures_to_open:
            self._opened_at = now
