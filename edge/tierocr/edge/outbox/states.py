"""What a document in the outbox is, and how it changes: a state machine.

Pure: every change is a function of an entry and of what happened, time included.

    received ──► read                              nothing to send: final at once
        │   └──► queued ◄──► sent ──► refined      final once every page was answered
        │            └─────────┴────► expired      final with what there is
        └──────► failed                            nothing could be read
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tierocr.shared.errors import TierocrError

RECEIVED, READ, QUEUED, SENT = "received", "read", "queued", "sent"
REFINED, EXPIRED, FAILED = "refined", "expired", "failed"
STATES = (RECEIVED, READ, QUEUED, SENT, REFINED, EXPIRED, FAILED)
FINAL_STATES = (READ, REFINED, EXPIRED, FAILED)
UNREFINED = (QUEUED, SENT)

NO_ANSWER = "deadline_exceeded: the cloud did not read it again before the deadline"
NOT_SENT = "cancelled: sending was turned off"
NO_ROOM = "over_capacity: the outbox was full, what was to be read again was dropped"
"""Why a document went out with the edge's text alone, for some of its pages at least: a code and a
message.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document in the outbox. Times are the outbox's own (see `ageing`).

    `number` grows in the order of arrival. `name`: as it came; `output`: the name that it has in
    sinks, which no other document has. `waiting`, `answered`: pages that are to be sent, and that
    were answered. `version` counts what was delivered: 0 before it was read. `reason`: why
    something of it was not refined.
    """

    number: int
    id: str
    sha256: str
    name: str
    output: str
    source: str
    received: float
    deadline: float
    state: str = RECEIVED
    version: int = 0
    waiting: int = 0
    answered: int = 0
    reason: str | None = None

    @property
    def final(self) -> bool:
        """Whether its text changes no more."""
        return self.state in FINAL_STATES


def read(entry: Entry, *, waiting: int, failed: bool, reason: str | None = None) -> Entry:
    """The edge has read it; `waiting` of its pages are to be read again. `reason`: why others are
    not.
    """
    _require(entry, RECEIVED)
    state = FAILED if failed else QUEUED if waiting else READ
    waiting = 0 if failed else waiting
    return replace(entry, state=state, version=1, waiting=waiting, reason=reason)


def sent(entry: Entry) -> Entry:
    """One of its pages is on its way."""
    _require(entry, *UNREFINED)
    return replace(entry, state=SENT)


def answered(entry: Entry, *, refused: str | None = None) -> Entry:
    """A page has been answered; `refused`: why it stays as the edge read it."""
    _require(entry, *UNREFINED)
    entry = replace(
        entry,
        state=QUEUED,
        waiting=entry.waiting - 1,
        answered=entry.answered + 1,
        reason=refused or entry.reason,
    )
    if entry.waiting:
        return entry
    return replace(entry, state=REFINED, version=entry.version + 1)


def postponed(entry: Entry) -> Entry:
    """A page that was on its way was not answered; it waits again."""
    _require(entry, *UNREFINED)
    return replace(entry, state=QUEUED)


def given_up(entry: Entry, reason: str) -> Entry:
    """No page of it is sent any more: it is final with the text that it has."""
    _require(entry, *UNREFINED)
    return replace(entry, state=EXPIRED, version=entry.version + 1, waiting=0, reason=reason)


def _require(entry: Entry, *states: str) -> None:
    if entry.state not in states:
        raise TierocrError("internal", f"document {entry.id} is {entry.state}, not {states[0]}")
