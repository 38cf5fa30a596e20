"""How much may be in the service at once, and when those who are turned away should come again.

Counts what was let in until it leaves again; must not know what it is.
"""

from __future__ import annotations

import math
from collections import Counter
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
    """A number of places. Not thread-safe: owned by one event loop.

    An owner who takes them all keeps nobody out: `reserve` more are for owners who hold no more
    than that.
    """

    def __init__(self, places: int, what: str, *, reserve: int = 0) -> None:
        """`what` names the things in messages."""
        self.places, self.what, self.reserve = places, what, reserve
        self.taken = 0
        self._own: Counter[str] = Counter()

    def ahead(self, owner: str, a_round: int) -> int:
        """How much of what is held has its turn before the owner's next, where owners take rounds
        of that size: its own, and of each other one as many rounds.
        """
        own = self._own[owner]
        most = a_round * (own // a_round + 1)
        return own + sum(min(n, most) for other, n in self._own.items() if other != owner)

    @contextmanager
    def hold(self, count: int = 1, *, owner: str = "", retry_after: int = 1) -> Iterator[None]:
        """Hold so many places inside a `with`. Raises `Busy` when they are not free."""
        small = self._own[owner] + count <= self.reserve
        if self.taken + count > self.places + (self.reserve if small else 0):
            raise Busy(
                f"{self.taken} of {self.places} {self.what} are under way", retry_after=retry_after
            )
        self.taken += count
        self._own[owner] += count
        try:
            yield
        finally:
            self.taken -= count
            self._own[owner] -= count
            if not self._own[owner]:
                del self._own[owner]
