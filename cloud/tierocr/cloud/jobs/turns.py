"""Whose turn it is, and how long the others wait.

Pure. The owners take turns file by file (round robin), each with its oldest job first, so that one
device with many jobs keeps nobody waiting for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tierocr.cloud.jobs.states import Job

_MEMORY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """`place`: jobs before it; `seconds`: until it should be done. None: ended, or not known."""

    place: int | None
    seconds: float | None


class Pace:
    """How long a page takes, from the last ones (exponential moving average)."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.seconds: float | None = None

    def add(self, seconds: float) -> None:
        """One more page."""
        if self.seconds is None:
            self.seconds = seconds
        else:
            self.seconds = _MEMORY * self.seconds + (1 - _MEMORY) * seconds


def in_turn(jobs: Iterable[Job], turns: Mapping[str, int]) -> list[Job]:
    """The unfinished jobs, the one to be read from next first. `turns`: for each owner the number
    of the turn that it had last.
    """
    queues: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda j: j.number):
        if not job.finished:
            queues.setdefault(job.owner, []).append(job)
    owners = sorted(queues, key=lambda o: (turns.get(o, 0), queues[o][0].number))
    ordered: list[Job] = []
    for round_ in range(max((len(q) for q in queues.values()), default=0)):
        ordered += [queues[o][round_] for o in owners if round_ < len(queues[o])]
    return ordered


def pages_left(job: Job, pages_per_file: float) -> float:
    """Pages that are still to be read; `pages_per_file` stands for files not yet counted."""
    return sum(
        max(0.0, (pages_per_file if f.total is None else f.total) - f.pages)
        for f in job.files
        if not f.finished
    )


def pages_per_file(jobs: Iterable[Job]) -> float:
    """The mean over the files that were counted, at least 1."""
    counts = [f.total for job in jobs for f in job.files if f.total is not None]
    return max(1.0, sum(counts) / len(counts)) if counts else 1.0


def place_of(job: Job, order: list[Job]) -> int | None:
    """How many jobs come before it; None once it has ended."""
    return next((i for i, other in enumerate(order) if other.id == job.id), None)


def estimate(job: Job, order: list[Job], each: float, pace: float | None) -> float | None:
    """Seconds until it should be done: its own pages and those of the jobs before it, at `pace`
    seconds a page. None when that cannot be told. `each`: see `pages_left`.
    """
    place = place_of(job, order)
    if place is None or pace is None:
        return None
    return pace * sum(pages_left(other, each) for other in order[: place + 1])
