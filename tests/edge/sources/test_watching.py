from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.sources.watching import (
    Signature,
    Watched,
    WatchRules,
    decide,
    not_taken,
    stuck,
)
from tierocr.shared.document import Failure

RULES = WatchRules(stable_seconds=2.0)
BAD = Failure(code="bad_image", message="cut off")
A, B = Signature(size=1, mtime=1), Signature(size=2, mtime=2)
Files = Mapping[str, Watched]


def taken(plan: object) -> list[str]:
    return [t.path for t in plan.take]  # type: ignore[attr-defined]


def test_a_file_is_taken_once_it_was_still_for_long_enough() -> None:
    plan = decide({}, {"a": A}, {}, 0.0, RULES)
    assert taken(plan) == [] and plan.wake_at == 2.0
    plan = decide(plan.watched, {"a": B}, {}, 1.5, RULES)
    assert taken(plan) == [] and plan.wake_at == 3.5, "it grew"
    plan = decide(plan.watched, {"a": B}, {}, 3.0, RULES)
    assert taken(plan) == []
    plan = decide(plan.watched, {"a": B}, {}, 3.5, RULES)
    assert taken(plan) == ["a"] and plan.wake_at is None


def test_a_file_that_was_taken_is_left_alone_until_it_changes() -> None:
    plan = decide({}, {"a": A}, {"a": A}, 99.0, RULES)
    assert not plan.take and not plan.watched and not plan.put_away
    plan = decide({}, {"a": B}, {"a": A}, 99.0, RULES)
    plan = decide(plan.watched, {"a": B}, {"a": A}, 101.0, RULES)
    assert taken(plan) == ["a"], "a name that comes again is a new document"


def test_processed_files_are_put_away_also_after_a_restart() -> None:
    rules = WatchRules(processed="delete")
    assert decide({}, {"a": A}, {"a": A}, 0.0, rules).put_away == ("a",)
    assert decide({}, {"a": B}, {"a": A}, 0.0, rules).put_away == ()


def test_files_that_are_gone_are_forgotten() -> None:
    plan = decide({"b": Watched(signature=A, since=0)}, {}, {"a": A}, 0.0, RULES)
    assert plan.gone == ("a",) and plan.watched == {}


def test_the_oldest_comes_first() -> None:
    listing = {"b": A, "c": B, "a": B}
    plan = decide({}, listing, {}, 0.0, RULES)
    assert taken(decide(plan.watched, listing, {}, 9.0, RULES)) == ["b", "a", "c"]


def test_what_does_not_parse_is_tried_ever_more_seldom_and_then_put_aside() -> None:
    watched: Files = decide({}, {"a": A}, {}, 0.0, RULES).watched
    now, times = 2.0, []
    while now < 5_000:
        plan = decide(watched, {"a": A}, {}, now, RULES)
        watched = plan.watched
        if plan.quarantine:
            break
        if plan.take:
            (take,) = plan.take
            times.append(now)
            assert take.last == (now >= 600)
            changed = not_taken(watched["a"], BAD, now, RULES, hopeless=take.last)
            watched = {"a": changed}
        else:
            assert plan.wake_at is not None
            now = plan.wake_at
    (aside,) = plan.quarantine
    assert aside.failure == BAD and times[-1] == 600.0
    gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
    assert gaps[0] == 2.0 and max(gaps) <= RULES.longest_wait and len(times) < 15


def test_a_partial_file_that_grows_gets_all_its_time_again() -> None:
    file = Watched(signature=A, since=0.0, attempts=5, not_before=300.0, failure=BAD)
    plan = decide({"a": file}, {"a": B}, {}, 200.0, RULES)
    assert plan.watched["a"] == Watched(signature=B, since=200.0)


def test_what_is_hopeless_is_put_aside_at_once_and_if_that_fails_later() -> None:
    file = not_taken(Watched(signature=A, since=0.0), BAD, 2.0, RULES, hopeless=True)
    assert decide({"a": file}, {"a": A}, {}, 2.0, RULES).quarantine
    file = stuck(file, 2.0, RULES)
    plan = decide({"a": file}, {"a": A}, {}, 3.0, RULES)
    assert not plan.quarantine and not plan.take and plan.wake_at == 122.0
    assert decide({"a": file}, {"a": A}, {}, 122.0, RULES).quarantine


signatures = st.builds(Signature, size=st.integers(0, 3), mtime=st.integers(0, 3))
listings = st.dictionaries(st.sampled_from("abc"), signatures)
steps = st.lists(st.tuples(st.floats(0.1, 5), listings, st.booleans()), max_size=20)


@given(steps)
def test_nothing_is_taken_before_it_was_still_and_nothing_still_is_forgotten(
    script: list[tuple[float, dict[str, Signature], bool]],
) -> None:
    watched: Files = {}
    seen: dict[str, Signature] = {}
    since: dict[str, tuple[Signature, float]] = {}
    now = 0.0
    for wait, listing, parses in script:
        now += wait
        plan = decide(watched, listing, seen, now, RULES)
        watched = plan.watched
        since = {
            p: since[p] if p in since and since[p][0] == s else (s, now) for p, s in listing.items()
        }
        for take in plan.take:
            assert take.signature == listing[take.path] != seen.get(take.path)
            assert now - since[take.path][1] >= RULES.stable_seconds
            if parses:
                seen[take.path] = take.signature
            else:
                changed = not_taken(watched[take.path], BAD, now, RULES, hopeless=False)
                watched = {**watched, take.path: changed}
        for path, signature in listing.items():
            if seen.get(path) != signature and path not in taken(plan):
                assert plan.wake_at is not None and plan.wake_at > now, "somebody must come back"
        for path in plan.gone:
            del seen[path]
