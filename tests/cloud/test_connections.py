"""Who takes nothing of what is written to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.connections import Unread

PATIENCE = 10.0


def test_who_takes_nothing_is_found_after_its_time_and_not_before() -> None:
    unread = Unread[str](PATIENCE)
    assert unread.look({"slow": 100, "done": 0}, 0) == []
    assert unread.look({"slow": 100}, 9) == []
    assert unread.look({"slow": 160}, 10) == ["slow"], "more was written, and nothing was taken"


def test_who_takes_a_little_has_its_time_again() -> None:
    unread = Unread[str](PATIENCE)
    for now in range(0, 100, 5):
        assert unread.look({"slow": 1000 - now}, now) == []
    assert unread.look({"slow": 905}, 104) == []
    assert unread.look({"slow": 905}, 105) == ["slow"]


def test_who_has_gone_or_taken_all_is_forgotten() -> None:
    unread = Unread[str](PATIENCE)
    unread.look({"a": 1, "b": 1}, 0)
    unread.look({"a": 0}, 5)
    assert len(unread) == 0
    assert unread.look({"a": 1, "b": 1}, 20) == []


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), max_size=30))
def test_only_those_that_wait_are_named_and_remembered(looks: list[dict[str, int]]) -> None:
    unread = Unread[str](2.0)
    for now, waiting in enumerate(looks):
        found = unread.look(waiting, float(now))
        assert set(found) <= {c for c, count in waiting.items() if count}
        assert len(unread) == sum(count > 0 for count in waiting.values())
        for connection in found:
            last = [look.get(connection, 0) for look in looks[now - 2 : now + 1]]
            assert last == sorted(last) and all(last)
