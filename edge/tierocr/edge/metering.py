"""What is sent is counted before it leaves, and the count outlives the process.

Joins the allowance, the clock and the outbox. A count that cannot be written keeps the call from
going out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from tierocr.edge.allowance import Allowance, Budget, Window
from tierocr.edge.outbox.threaded import ThreadedOutbox

NOTE = "allowance"


class Meter:
    """One device's way to the cloud."""

    def __init__(
        self,
        outbox: ThreadedOutbox,
        budget: Budget,
        windows: Sequence[Window] = (),
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock`: seconds since the epoch."""
        self._outbox, self._budget, self._windows = outbox, budget, windows
        self._clock = clock
        self._kept: Allowance | None = None
        self.bytes = self.calls = 0
        """Sent since the start."""

    async def wait(self) -> float:
        """Seconds until a call may begin, or until that should be asked again. Raises what the
        outbox raises.
        """
        allowance, now = await self._allowance(), self._clock()
        return allowance.wait(now, datetime.fromtimestamp(now))

    async def book(self, size: int) -> None:
        """A call of so many bytes is about to go out. Raises what the outbox raises."""
        allowance, now = await self._allowance(), self._clock()
        allowance.take(size, now, datetime.fromtimestamp(now))
        self.bytes, self.calls = self.bytes + size, self.calls + 1
        kept = allowance.dump()
        await self._outbox.call(lambda box: box.put_note(NOTE, kept))

    async def _allowance(self) -> Allowance:
        if self._kept is None:
            kept = await self._outbox.call(lambda box: box.note(NOTE))
            self._kept = Allowance(self._budget, self._windows, kept)
        return self._kept
