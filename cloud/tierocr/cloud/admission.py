"""How much may be in the service at once, and when those who are turned away should come again.

Counts what was let in until it leaves again; must not know what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from tierocr.shared.errors import TierocrError

LONGEST_RETRY = 30
"""Seconds; nobody is told to stay away for longer, since what is expected may change."""


def come_again(wait: float, luck: float) -> int:
    """Whole seconds for Retry-After: the expected wait, spread so that those who are turned away
    together do not come back together.

    `wait`: seconds until there is room; `luck`: 0 to 1, another for each caller.
    """
    return max(1, min(LONGEST_RETRY, math.ceil(wait * (1 + luck / 2) + luck)))


class Busy(TierocrError):
    """`over_capacity` with the seconds after which a caller should come again."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        """See the class."""
        super().__init__("over_capacity", message)
        self.retry_after = retry_after


class Late(TierocrError):
    """`deadline_exceeded` for work that the queue has no time for, with the seconds after which it
    may have.
    """

    def __init__(self, message: str, retry_after: int = 1) -> None:
        """See the class."""
        super().__init__("deadline_exceeded", message)
        self.retry_after = retry_after


class Bound:
    """A number of places. Not thread-safe: owned by one event loop."""

    def __init__(self, places: int, what: str) -> None:
        """`what` names the things in messages."""
        self.places = places
        self.what = what
        self.taken = 0

    @contextmanager
    def hold(self, count: int = 1, *, retry_after: int = 1) -> Iterator[None]:
        """Hold so many places inside a `with`. Raises `Busy` when they are not free."""
        if self.taken + count > self.places:
            raise Busy(
                f"{self.taken} of {self.places} {self.what} are under way", retry_after=retry_after
            )
        self.taken += count
        try:
            yield
        finally:
            self.taken -= count
