"""The batching core: nothing lost, nothing twice, nothing mixed, nothing late."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierocr.cloud.batching import BatchLimits, DeadlineBatcher, Decision, Entry
from tierocr.shared.errors import TierocrError

LIMITS = BatchLimits(max_entries=100, max_batch=4, max_wait=0.05, max_cost=1024)


def entry(
    key: int,
    *,
    bucket: int = 64,
    arrived: float = 0.0,
    deadline: float = 1e9,
    owner: str = "",
) -> Entry:
    return Entry(
        key=key, bucket=bucket, cost=bucket, deadline=deadline, arrived=arrived, owner=owner
    )


def batcher(*entries: Entry, limits: BatchLimits = LIMITS) -> DeadlineBatcher:
    result = DeadlineBatcher(limits)
    for one in entries:
        result.add(one)
    return result


def keys(decision: Decision) -> list[int]:
    return [e.key for e in decision.batch]


def test_an_empty_queue_has_nothing_to_wait_for() -> None:
    assert batcher().next_batch(0, idle=True) == Decision()


def test_an_idle_device_gets_work_at_once() -> None:
    assert keys(batcher(entry(1)).next_batch(0, idle=True)) == [1]


def test_a_busy_device_waits_for_company_until_max_wait() -> None:
    queue = batcher(entry(1, arrived=1.0))
    waiting = queue.next_batch(1.01, idle=False)
    assert waiting.batch == () and waiting.wake_at == pytest.approx(1.05)
    assert keys(queue.next_batch(1.05, idle=False)) == [1]


def test_a_full_batch_does_not_wait() -> None:
    queue = batcher(*(entry(k) for k in range(6)))
    assert keys(queue.next_batch(0, idle=False)) == [0, 1, 2, 3]
    assert keys(queue.next_batch(0, idle=False)) == []
    assert keys(queue.next_batch(0, idle=True)) == [4, 5]


def test_a_batch_closes_at_its_padded_cost() -> None:
    queue = batcher(*(entry(k, bucket=512) for k in range(3)))
    assert keys(queue.next_batch(0, idle=False)) == [0, 1]


def test_one_entry_over_the_cost_is_launched_alone() -> None:
    queue = batcher(entry(1, bucket=4096), entry(2, bucket=4096))
    assert keys(queue.next_batch(0, idle=True)) == [1]


def test_the_most_urgent_goes_first_inside_and_across_buckets() -> None:
    queue = batcher(
        entry(1, bucket=64, deadline=30),
        entry(2, bucket=128, deadline=20),
        entry(3, bucket=64, deadline=10),
        entry(4, bucket=64, deadline=10),
    )
    assert keys(queue.next_batch(0, idle=True)) == [3, 4, 1]
    assert keys(queue.next_batch(0, idle=True)) == [2]


def test_a_mixed_batch_takes_the_most_urgent_of_all_buckets() -> None:
    limits = BatchLimits(max_entries=100, max_batch=4, max_cost=1024, mixed=True)
    queue = batcher(*(entry(k, bucket=64 if k % 2 else 128) for k in range(6)), limits=limits)
    assert keys(queue.next_batch(0, idle=False)) == [0, 1, 2, 3]
    assert keys(queue.next_batch(0, idle=True)) == [4, 5]


def test_a_mixed_batch_closes_at_its_padded_cost() -> None:
    limits = BatchLimits(max_entries=100, max_batch=8, max_cost=1000, mixed=True)
    queue = batcher(entry(1, bucket=640), entry(2, bucket=320), entry(3, bucket=64), limits=limits)
    assert keys(queue.next_batch(0, idle=False)) == [1, 2]


def test_expired_entries_are_handed_back_and_never_launched() -> None:
    queue = batcher(entry(1, deadline=1), entry(2, deadline=2))
    decision = queue.next_batch(1, idle=True)
    assert [e.key for e in decision.expired] == [1]
    assert keys(decision) == [2]


def test_a_deadline_before_max_wait_wakes() -> None:
    assert batcher(entry(1, deadline=0.02)).next_batch(0, idle=False).wake_at == 0.02


def test_cancelled_entries_are_gone() -> None:
    queue = batcher(entry(1), entry(2))
    assert queue.cancel(1)
    assert not queue.cancel(1)
    assert keys(queue.next_batch(0, idle=True)) == [2]
    assert not queue.cancel(2)
    assert queue.depths() == {}


def test_a_full_queue_refuses_and_stays_as_it_was() -> None:
    queue = batcher(entry(1), limits=BatchLimits(max_entries=1))
    with pytest.raises(TierocrError) as caught:
        queue.add(entry(2))
    assert caught.value.code == "over_capacity"
    assert keys(queue.next_batch(0, idle=True)) == [1]


def test_the_same_key_twice_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="queued already"):
        batcher(entry(1), entry(1))


# Fair over owners


def drained(queue: DeadlineBatcher) -> list[int]:
    """Every key in the order of launching."""
    found: list[int] = []
    while batch := keys(queue.next_batch(0, idle=True)):
        found += batch
    return found


def test_a_flood_does_not_hold_up_another_owner() -> None:
    flood = [entry(k, bucket=256, owner="flood", deadline=1) for k in range(60)]
    queue = batcher(*flood, entry(100, bucket=256, owner="other", deadline=50))
    position = drained(queue).index(100)
    assert position <= 2 * LIMITS.max_batch


def test_who_comes_while_a_flood_is_read_is_next_in_turn() -> None:
    queue = batcher(*(entry(k, bucket=256, owner="flood", deadline=1) for k in range(60)))
    for _ in range(5):
        queue.next_batch(0, idle=True)
    queue.add(entry(100, bucket=256, owner="other", deadline=50))
    assert drained(queue).index(100) <= 2 * LIMITS.max_batch


def test_a_flood_in_another_bucket_does_not_hold_up_either() -> None:
    flood = [entry(k, bucket=64, owner="flood", deadline=1) for k in range(90)]
    queue = batcher(*flood, entry(100, bucket=512, owner="other", deadline=50))
    assert drained(queue).index(100) <= 2 * LIMITS.max_cost // 64


def test_owners_with_the_same_backlog_get_the_same_share() -> None:
    queue = batcher(*(entry(k, bucket=128, owner="ab"[k >= 40], deadline=k) for k in range(80)))
    first = drained(queue)[:40]
    assert abs(sum(k < 40 for k in first) - 20) <= LIMITS.max_cost // 128


def test_having_waited_long_in_an_empty_house_earns_nothing() -> None:
    queue = batcher(*(entry(k, owner="a") for k in range(8)))
    drained(queue)
    queue.add(entry(20, owner="a", deadline=1))
    queue.add(entry(21, owner="b", deadline=2))
    assert keys(queue.next_batch(0, idle=True)) == [20, 21]


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from([64, 128, 512])), min_size=1, max_size=90
    )
)
def test_no_owner_waits_for_more_than_a_round_of_the_others(work: list[tuple[str, int]]) -> None:
    queue = batcher(*(entry(k, bucket=b, owner=o) for k, (o, b) in enumerate(work)))
    done: dict[str, int] = {"a": 0, "b": 0, "c": 0}
    left = {o: sum(o == owner for owner, _ in work) for o in done}
    while batch := queue.next_batch(0, idle=True).batch:
        for one in batch:
            done[one.owner] += one.cost
            left[one.owner] -= 1
        waiting = [done[o] for o in done if left[o]]
        if waiting:  # nobody with work left is far behind anybody who was served
            assert max(done.values()) - min(waiting) <= 3 * LIMITS.max_cost


@dataclass
class Model:
    """What should be true, told from the outside."""

    queue: DeadlineBatcher
    mixed: bool
    now: float = 0.0
    waiting: dict[int, Entry] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)

    def add(self, key: int, bucket: int, budget: float) -> None:
        one = entry(key, bucket=bucket, arrived=self.now, deadline=self.now + budget)
        if len(self.waiting) < MODEL_LIMITS.max_entries:
            self.queue.add(one)
            self.waiting[key] = one
        else:
            with pytest.raises(TierocrError):
                self.queue.add(one)

    def leave(self, key: int) -> Entry:
        assert key not in self.gone
        self.gone.add(key)
        return self.waiting.pop(key)

    def ask(self, idle: bool) -> Decision:
        decision = self.queue.next_batch(self.now, idle=idle)
        for late in decision.expired:
            assert self.leave(late.key) is late and late.deadline <= self.now
        assert all(e.deadline > self.now for e in self.waiting.values())
        self.check_batch(decision.batch)
        if not decision.batch:
            self.check_wait(decision.wake_at, idle)
        return decision

    def check_batch(self, batch: tuple[Entry, ...]) -> None:
        assert self.mixed or len({e.bucket for e in batch}) <= 1
        assert len(batch) <= MODEL_LIMITS.max_batch
        assert len(batch) <= 1 or sum(e.cost for e in batch) <= MODEL_LIMITS.max_cost
        order = [(e.deadline, e.key) for e in batch]
        assert order == sorted(order)
        for one in batch:
            assert self.leave(one.key) is one
        for other in self.waiting.values():
            if batch and (self.mixed or other.bucket == batch[0].bucket):
                assert (other.deadline, other.key) > order[-1]

    def check_wait(self, wake_at: float | None, idle: bool) -> None:
        if not self.waiting:
            assert wake_at is None
            return
        assert not idle and wake_at is not None and wake_at > self.now
        assert wake_at <= min(e.arrived for e in self.waiting.values()) + MODEL_LIMITS.max_wait
        assert wake_at <= min(e.deadline for e in self.waiting.values())


MODEL_LIMITS = BatchLimits(max_entries=12, max_batch=3, max_wait=0.05, max_cost=400)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from([64, 128, 256, 512]), st.floats(0.001, 0.5)),
        st.tuples(st.just("ask"), st.booleans(), st.just(0.0)),
        st.tuples(st.just("cancel"), st.integers(0, 40), st.just(0.0)),
        st.tuples(st.just("pass"), st.just(0), st.floats(0.0, 0.1)),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.booleans())
def test_nothing_is_lost_doubled_mixed_or_late(
    steps: list[tuple[str, int, float]], mixed: bool
) -> None:
    model = Model(DeadlineBatcher(replace(MODEL_LIMITS, mixed=mixed)), mixed)
    for number, (step, value, seconds) in enumerate(steps):
        if step == "add":
            model.add(number, value, seconds)
        elif step == "cancel":
            expected = value in model.waiting
            assert model.queue.cancel(value) == expected
            if expected:
                model.leave(value)
        elif step == "pass":
            model.now += seconds
        else:
            model.ask(bool(value))
        depths = model.queue.depths()
        assert sum(depths.values()) == len(model.waiting) and 0 not in depths.values()
    for _ in range(MODEL_LIMITS.max_entries):
        model.ask(idle=True)
    assert not model.waiting
