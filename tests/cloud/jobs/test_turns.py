from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.jobs import some_job
from tierocr.cloud.jobs.states import DONE, RUNNING, Job
from tierocr.cloud.jobs.turns import (
    Pace,
    estimate,
    in_turn,
    pages_left,
    pages_per_file,
    place_of,
)

OWNERS = "abc"


@st.composite
def jobs(draw: st.DrawFn) -> list[Job]:
    owners = draw(st.lists(st.sampled_from(OWNERS), max_size=12))
    states = draw(
        st.lists(st.sampled_from(["queued", "running", "done"]), min_size=12, max_size=12)
    )
    return [
        some_job(number, owner, state=state)
        for number, (owner, state) in enumerate(zip(owners, states, strict=False), 1)
    ]


@given(jobs(), st.dictionaries(st.sampled_from(OWNERS), st.integers(1, 9)))
def test_all_unfinished_jobs_have_a_turn_and_an_owners_go_in_order(
    given_jobs: list[Job], turns: dict[str, int]
) -> None:
    order = in_turn(given_jobs, turns)
    assert sorted(j.number for j in order) == [j.number for j in given_jobs if not j.finished]
    for owner in OWNERS:
        own = [j.number for j in order if j.owner == owner]
        assert own == sorted(own)


@given(jobs(), st.dictionaries(st.sampled_from(OWNERS), st.integers(1, 9)))
def test_nobody_waits_for_more_than_one_job_of_each_other_owner(
    given_jobs: list[Job], turns: dict[str, int]
) -> None:
    order = in_turn(given_jobs, turns)
    for owner in {j.owner for j in order}:
        before = [j.owner for j in order[: [j.owner for j in order].index(owner)]]
        assert len(before) == len(set(before))


def test_who_had_the_last_turn_comes_last() -> None:
    three = [some_job(1, "a"), some_job(2, "a"), some_job(3, "b")]
    assert [j.number for j in in_turn(three, {})] == [1, 3, 2]
    assert [j.number for j in in_turn(three, {"a": 1})] == [3, 1, 2]
    assert [j.number for j in in_turn(three, {"a": 1, "b": 2})] == [1, 3, 2]


def with_pages(job: Job, total: int | None, pages: int) -> Job:
    file = replace(job.files[0], state=RUNNING, total=total, pages=pages)
    return replace(job, files=(file, *job.files[1:]))


def test_the_estimate_is_the_pages_before_it_and_its_own() -> None:
    first = with_pages(some_job(1, files=2), total=10, pages=4)  # 6 left, and a file uncounted
    second = some_job(2)
    order = [first, second]
    assert pages_left(first, 3.0) == 9
    assert estimate(first, order, 3.0, 0.5) == 4.5
    assert estimate(second, order, 3.0, 0.5) == 6.0
    assert place_of(second, order) == 1


def test_nothing_is_said_before_anything_was_measured_or_after_the_end() -> None:
    job = some_job()
    assert estimate(job, [job], 1.0, None) is None
    ended = some_job(2, state=DONE)
    assert place_of(ended, [job]) is None and estimate(ended, [job], 1.0, 0.5) is None


def test_files_that_were_counted_stand_for_those_that_were_not() -> None:
    assert pages_per_file([some_job()]) == 1.0
    assert pages_per_file([with_pages(some_job(1), 10, 0), with_pages(some_job(2), 4, 0)]) == 7.0


def test_the_pace_follows_the_last_pages() -> None:
    pace = Pace()
    for _ in range(50):
        pace.add(1.0)
    assert pace.seconds == 1.0
    for _ in range(50):
        pace.add(3.0)
    assert pace.seconds == pytest.approx(3.0, abs=0.01)
