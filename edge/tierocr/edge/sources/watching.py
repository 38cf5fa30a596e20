"""What is done with each file of a watched folder: state + listing + now -> actions. Pure.

A file is taken once its size and time of change have been still for a while, and never while it
is still being written. One that does not parse then may be a part of itself: it is tried again,
ever more seldom, until patience is at its end; then it is put aside with the reason. A file that
changes starts anew. Times are seconds of a monotonic clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tierocr.shared.document import Failure

Processed = Literal["keep", "move", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What tells one state of a file from another: bytes, and nanoseconds of its change."""

    size: int
    mtime: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """`stable_seconds`: how long a file must be still. `patience`: how long after its last change
    one that does not parse may still be completed. `longest_wait`: between two attempts.
    """

    stable_seconds: float = 2.0
    patience: float = 600.0
    longest_wait: float = 120.0
    processed: Processed = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A file that is not done with. `since`: when it was first seen as it is; `failure`: why it
    could not be taken; `hopeless`: whether waiting cannot help.
    """

    signature: Signature
    since: float
    attempts: int = 0
    not_before: float = 0.0
    failure: Failure | None = None
    hopeless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """A file to be read now; `last`: it is the last attempt, so what can be read of it counts."""

    path: str
    signature: Signature
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A file to be put aside."""

    path: str
    signature: Signature
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`take`: in this order. `put_away`: files that were taken, to be moved or deleted. `gone`:
    files that were taken and are no longer there. `wake_at`: when something may be due next.
    """

    watched: Mapping[str, Watched]
    take: tuple[Take, ...] = ()
    quarantine: tuple[Quarantine, ...] = ()
    put_away: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    wake_at: float | None = None


def decide(
    watched: Mapping[str, Watched],
    listing: Mapping[str, Signature],
    seen: Mapping[str, Signature],
    now: float,
    rules: WatchRules,
) -> Plan:
    """What to do now. `seen`: files that were taken, as they were then."""
    kept: dict[str, Watched] = {}
    take: list[Take] = []
    quarantine: list[Quarantine] = []
    wake: list[float] = []
    put_away = []
    for path, signature in listing.items():
        if seen.get(path) == signature:
            if rules.processed != "keep":
                put_away.append(path)
            continue
        file = watched.get(path)
        if file is None or file.signature != signature:
            file = Watched(signature=signature, since=now)
        kept[path] = file
        due = max(file.since + rules.stable_seconds, file.not_before)
        if now < due:
            wake.append(due)
        elif file.hopeless and file.failure is not None:
            quarantine.append(Quarantine(path=path, signature=signature, failure=file.failure))
        else:
            last = file.failure is not None and now >= file.since + rules.patience
            take.append(Take(path=path, signature=signature, last=last))
    return Plan(
        watched=kept,
        take=tuple(sorted(take, key=lambda t: (t.signature.mtime, t.path))),
        quarantine=tuple(quarantine),
        put_away=tuple(put_away),
        gone=tuple(path for path in seen if path not in listing),
        wake_at=min(wake, default=None),
    )


def not_taken(
    file: Watched, failure: Failure, now: float, rules: WatchRules, *, hopeless: bool
) -> Watched:
    """The file after an attempt that failed. `hopeless`: waiting cannot help, or it was the last
    attempt.
    """
    wait = min(max(rules.stable_seconds, 1.0) * 2.0**file.attempts, rules.longest_wait)
    end = file.since + rules.patience
    not_before = min(now + wait, end) if now < end else now + wait
    if hopeless:
        not_before = now
    return replace(
        file,
        attempts=file.attempts + 1,
        not_before=not_before,
        failure=failure,
        hopeless=hopeless,
    )


def stuck(file: Watched, now: float, rules: WatchRules) -> Watched:
    """The file after it could not be put aside: that is tried again, seldom."""
    return replace(file, not_before=now + rules.longest_wait)
