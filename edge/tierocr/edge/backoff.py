"""How long to wait before trying again. Pure; the random number is passed in."""

from __future__ import annotations

LONGEST_ASKED = 86_400.0
"""Seconds that a server may ask us to stay away: beyond a day it is a mistake of its own."""


def asked_wait(header: str | None) -> float | None:
    """Seconds of a Retry-After header; None for none, and for the form with a date, which is not
    used between our parts.
    """
    try:
        seconds = float(header) if header is not None else None
    except ValueError:
        return None
    return None if seconds is None else min(max(0.0, seconds), LONGEST_ASKED)


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
