from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.outbox.choices import (
    Bounds,
    Held,
    Load,
    Waiting,
    WhenFull,
    admit,
    next_due,
    next_page,
    to_free,
)

policies: st.SearchStrategy[WhenFull] = st.sampled_from(
    ["drop_oldest", "drop_least_valuable", "block"]
)
sizes = st.integers(0, 1000)
gains = st.floats(0, 50)


@st.composite
def helds(draw: st.DrawFn) -> list[Held]:
    values = draw(st.lists(st.tuples(st.integers(1, 1000), gains), max_size=8))
    return [Held(number=n, bytes=b, gain=g) for n, (b, g) in enumerate(values, 1)]


def bounds(when_full: WhenFull, most: int = 1000, documents: int = 100) -> Bounds:
    return Bounds(max_bytes=most, max_documents=documents, when_full=when_full)


def test_documents_take_turns() -> None:
    """Two long documents and a short one that comes later."""
    left = {1: 6, 2: 6}
    answered = {1: 0, 2: 0, 3: 0}
    order = []
    for step in range(14):
        if step == 4:
            left[3] = 2
        waiting = [Waiting(number=n, page=0, answered=answered[n]) for n, k in left.items() if k]
        chosen = next_page(waiting, 0.0)
        assert chosen is not None
        order.append(chosen.number)
        left[chosen.number] -= 1
        answered[chosen.number] += 1
    assert order[:4] == [1, 2, 1, 2] and order[4:6] == [3, 3]
    assert sorted(order) == [1] * 6 + [2] * 6 + [3] * 2


def test_what_is_not_due_waits() -> None:
    waiting = [Waiting(number=1, page=0, not_before=5.0), Waiting(number=2, page=0, answered=9)]
    assert next_page(waiting, 0.0) == waiting[1]
    assert next_page(waiting[:1], 0.0) is None
    assert next_due(waiting, 0.0) == 5.0
    assert next_page(waiting, 5.0) == waiting[0]
    assert next_due([], 0.0) is None


@given(policies, helds(), sizes, sizes, gains, st.integers(0, 200))
def test_the_bound_is_kept_and_only_refinements_are_dropped(
    when_full: WhenFull, held: list[Held], content: int, crops: int, gain: float, other: int
) -> None:
    load = Load(bytes=sum(h.bytes for h in held) + other, documents=len(held) + 1)
    verdict = admit(bounds(when_full), load, held, content=content, crops=crops, gain=gain)
    by_number = {h.number: h for h in held}
    assert set(verdict.drop) <= set(by_number)
    if not verdict.admitted:
        return
    after = load.bytes - sum(by_number[n].bytes for n in verdict.drop)
    after += content + (crops if verdict.refine else 0)
    assert after <= 1000
    if when_full == "block":
        assert not verdict.drop and verdict.refine


@given(policies, sizes, st.integers(0, 5000), gains)
def test_a_document_that_is_alone_always_comes_in(
    when_full: WhenFull, content: int, crops: int, gain: float
) -> None:
    empty = Load(bytes=0, documents=0)
    verdict = admit(bounds(when_full), empty, [], content=content, crops=crops, gain=gain)
    assert verdict.admitted
    assert not verdict.refine or content + crops <= 1000


def test_the_oldest_or_the_least_valuable_goes_first() -> None:
    held = [
        Held(number=1, bytes=400, gain=8.0),
        Held(number=2, bytes=400, gain=0.1),
        Held(number=3, bytes=200, gain=4.0),
    ]
    load = Load(bytes=1000, documents=3)
    oldest = admit(bounds("drop_oldest"), load, held, content=10, crops=90, gain=5.0)
    assert (oldest.admitted, oldest.drop, oldest.refine) == (True, (1,), True)
    least = admit(bounds("drop_least_valuable"), load, held, content=10, crops=90, gain=5.0)
    assert (least.admitted, least.drop, least.refine) == (True, (2,), True)
    worthless = admit(bounds("drop_least_valuable"), load, held, content=0, crops=90, gain=0.0)
    assert (worthless.admitted, worthless.drop, worthless.refine) == (True, (), False)
    blocked = admit(bounds("block"), load, held, content=10, crops=90, gain=5.0)
    assert not blocked.admitted


def test_too_many_documents_wait_outside() -> None:
    full = Load(bytes=0, documents=100)
    for policy in ("drop_oldest", "drop_least_valuable", "block"):
        verdict = admit(bounds(policy), full, [], content=1, crops=0, gain=0)
        assert not verdict.admitted


def test_narrower_bounds_at_a_start() -> None:
    held = [Held(number=n, bytes=100, gain=float(n)) for n in (1, 2, 3)]
    assert to_free(held, 150, "drop_oldest") == (1, 2)
    assert to_free(held, 0, "drop_oldest") == ()
    assert to_free(held, 150, "block") == ()
