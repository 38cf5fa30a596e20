"""What the outbox does next: which page is sent, whose refinement is dropped, what may come in.

Pure: values in, a choice out; time is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

WhenFull = Literal["drop_oldest", "drop_least_valuable", "block"]

CONCERNS_SERVICE = frozenset(
    ("unauthorized", "not_found", "incompatible_version", "config_invalid")
)
"""Refusals that say nothing about what was sent: somebody has to mend the service or the settings,
and until then every page would be refused alike.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The first page of a document that is to be sent. `answered`: pages of the same document that
    were answered already; `not_before`: in the outbox's time; `under_way`: pages of the
    document that are being sent.
    """

    number: int
    page: int
    answered: int = 0
    under_way: int = 0
    not_before: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A document whose refinement may be dropped. `bytes`: what that frees; `gain`: how many wrong
    lines it might mend.
    """

    number: int
    bytes: int
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much the outbox may hold of documents that are not finished."""

    max_bytes: int
    max_documents: int
    when_full: WhenFull


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What it holds."""

    bytes: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether a document may come in, whose refinement is dropped for it, whether it keeps its
    own.
    """

    admitted: bool
    drop: tuple[int, ...] = ()
    refine: bool = True


def next_page(waiting: Iterable[Waiting], now: float) -> Waiting | None:
    """The page to send now: documents take turns, and of those whose turn it is the oldest comes
    first. A long document so never holds up a short one, and none waits for ever.
    """
    due = [w for w in waiting if w.not_before <= now]
    return min(due, key=lambda w: (w.answered + w.under_way, w.number, w.page), default=None)


def next_due(waiting: Iterable[Waiting], now: float) -> float | None:
    """When a page may be sent that may not yet; None if there is none."""
    return min((w.not_before for w in waiting if w.not_before > now), default=None)


def admit(
    bounds: Bounds, load: Load, held: Sequence[Held], *, content: int, crops: int, gain: float
) -> Admission:
    """Whether a document of so many bytes comes in: `content` is its text, which is never given
    up, `crops` what would be sent of it, worth `gain`.

    Only refinements are dropped, never a document: with no refinement left to drop, it waits
    outside. So that nothing waits for ever, a document that is alone is let in whatever it
    weighs.
    """
    alone = load.documents == 0
    if not alone and load.documents >= bounds.max_documents:
        return Admission(admitted=False)
    free = bounds.max_bytes - load.bytes
    if content + crops <= free:
        return Admission(admitted=True)
    if bounds.when_full == "block":
        if not alone:
            return Admission(admitted=False)
        return Admission(admitted=True, refine=False)
    new = Held(number=-1, bytes=crops, gain=gain)
    dropped = []
    need = content + crops - free
    for candidate in _worst_first([*held, new], bounds.when_full):
        if need <= 0:
            break
        if candidate.bytes > 0:
            dropped.append(candidate.number)
            need -= candidate.bytes
    return Admission(
        admitted=need <= 0 or alone,
        drop=tuple(n for n in dropped if n >= 0),
        refine=crops > 0 and new.number not in dropped,
    )


def to_free(held: Sequence[Held], excess: int, when_full: WhenFull) -> tuple[int, ...]:
    """Whose refinement is dropped to get rid of so many bytes at a start with narrower bounds."""
    dropped = []
    for candidate in _worst_first(held, when_full) if when_full != "block" else ():
        if excess <= 0:
            break
        dropped.append(candidate.number)
        excess -= candidate.bytes
    return tuple(dropped)


def _worst_first(held: Iterable[Held], when_full: WhenFull) -> list[Held]:
    if when_full == "drop_oldest":
        return sorted(held, key=lambda h: (h.number < 0, h.number))  # the new one is the youngest
    return sorted(held, key=lambda h: (h.gain / max(h.bytes, 1), h.number))
