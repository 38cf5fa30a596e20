"""The clock that shows the outbox's own time; see `ageing`."""

from __future__ import annotations

import time
from collections.abc import Callable

_WITH_SLEEP = getattr(time, "CLOCK_BOOTTIME", None)


def steady() -> float:
    """Seconds that nobody can set; where the system can tell, those that it slept are counted."""
    return time.monotonic() if _WITH_SLEEP is None else time.clock_gettime(_WITH_SLEEP)


class OutboxClock:
    """Goes from a given time on."""

    def __init__(self, start: float, clock: Callable[[], float] = steady) -> None:
        """`start`: the outbox's time now."""
        self._clock, self._zero = clock, clock() - start

    def now(self) -> float:
        """The outbox's time."""
        return self._clock() - self._zero
