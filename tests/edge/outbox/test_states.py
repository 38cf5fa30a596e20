from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.outbox import states
from tierocr.edge.outbox.states import (
    EXPIRED,
    FAILED,
    NO_ANSWER,
    QUEUED,
    READ,
    REFINED,
    SENT,
    STATES,
    Entry,
)
from tierocr.shared.errors import TierocrError


def entry(**more: object) -> Entry:
    values: dict[str, object] = {
        "number": 1,
        "id": "sha256-0",
        "sha256": "0",
        "name": "a.png",
        "output": "a.png",
        "source": "inbox",
        "received": 0.0,
        "deadline": 10.0,
        **more,
    }
    return Entry(**values)  # type: ignore[arg-type]


def test_nothing_to_send_is_final_at_once() -> None:
    done = states.read(entry(), waiting=0, failed=False)
    assert (done.state, done.version, done.final) == (READ, 1, True)


def test_what_could_not_be_read_is_final_too() -> None:
    done = states.read(entry(), waiting=3, failed=True)
    assert (done.state, done.version, done.waiting, done.final) == (FAILED, 1, 0, True)


def test_refined_once_every_page_was_answered() -> None:
    one = states.read(entry(), waiting=2, failed=False)
    assert (one.state, one.version, one.final) == (QUEUED, 1, False)
    two = states.answered(states.sent(one))
    assert (two.state, two.version, two.answered) == (QUEUED, 1, 1)
    three = states.answered(states.sent(states.postponed(states.sent(two))))
    assert (three.state, three.version, three.final) == (REFINED, 2, True)


def test_given_up_is_final_with_a_reason() -> None:
    done = states.given_up(states.read(entry(), waiting=2, failed=False), NO_ANSWER)
    assert (done.state, done.version, done.waiting, done.reason) == (EXPIRED, 2, 0, NO_ANSWER)


CHANGES: dict[str, Callable[[Entry], Entry]] = {
    "read": lambda e: states.read(e, waiting=1, failed=False),
    "sent": states.sent,
    "answered": states.answered,
    "postponed": states.postponed,
    "given_up": lambda e: states.given_up(e, "x"),
}


@given(st.lists(st.sampled_from(sorted(CHANGES)), max_size=12))
def test_any_order_of_events_ends_once_with_one_more_version(events: list[str]) -> None:
    now, finals = entry(), 0
    for event in events:
        before = now
        try:
            now = CHANGES[event](before)
        except TierocrError as error:
            assert error.code == "internal"
            assert (event == "read") != (before.state == states.RECEIVED) or before.final
            continue
        assert now.state in STATES and now.version in (before.version, before.version + 1)
        finals += now.final and not before.final
    assert finals <= 1
    assert now.final == (finals == 1)


@pytest.mark.parametrize("event", ["sent", "answered", "postponed", "given_up"])
def test_what_was_not_read_cannot_be_sent(event: str) -> None:
    with pytest.raises(TierocrError):
        CHANGES[event](entry())


def test_a_page_on_its_way_may_be_given_up() -> None:
    way = states.sent(states.read(entry(), waiting=1, failed=False))
    assert way.state == SENT
    assert states.given_up(way, "x").final
