"""The outbox's own time, by which documents age: it never jumps, whatever is done to the clock.

It begins as seconds since the epoch. While the agent runs it goes as a steady clock does; over a
time in which the agent was off, it goes on by what the wall clock says has passed, within reason.
A device without a battery for its clock starts in the past, and finds out the time later: nothing
expires of that, and nothing is kept for ever. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

LONGEST_OFF = 86_400.0
"""Seconds that a time off counts at most: a longer one may as well be a clock that was set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The outbox's time, and what the wall clock said then."""

    time: float
    wall: float


def resumed(last: Moment | None, wall: float) -> float:
    """The outbox's time at a start. `last`: the moment that was noted last."""
    if last is None:
        return wall
    return last.time + min(max(wall - last.wall, 0.0), LONGEST_OFF)


def dump(moment: Moment) -> str:
    """A moment as a note."""
    return json.dumps([moment.time, moment.wall])


def load(note: str | None) -> Moment | None:
    """What it was made from; None for none."""
    if note is None:
        return None
    time, wall = json.loads(note)
    return Moment(time=float(time), wall=float(wall))
