"""How long to wait before trying again. Pure; the random number is passed in."""

from __future__ import annotations


def delay(
    attempt: int,
    retry_after: float | None,
    random: float,
    *,
    base: float = 0.2,
    most: float = 10.0,
) -> float:
    """Seconds to wait before attempt `attempt` + 1 (from 0), never less than the server asked for.

    Exponential with full jitter ("Exponential Backoff and Jitter", AWS Architecture Blog, 2015),
    at most `most` seconds on our own account. `random`: uniform in 0..1.
    """
    own = random * min(base * 2.0 ** min(attempt, 30), most)
    return max(own, retry_after or 0.0)
