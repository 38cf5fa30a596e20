from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.documents import ENGINE
from tests.fakes.jobs import some_job
from tierocr.cloud.jobs import states
from tierocr.cloud.jobs.states import (
    CANCELLED,
    DONE,
    EXPIRED,
    FAILED,
    QUEUED,
    RUNNING,
    UNFINISHED,
    Change,
    Event,
    Job,
)
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError

Step = Callable[[Job], Change]
BAD = Failure(code="bad_image", message="torn")
N = st.integers(0, 2)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda n, total: lambda job: states.begin_file(job, n, total, ENGINE),
        N,
        st.none() | st.integers(1, 3),
    ),
    st.builds(
        lambda n, failure: lambda job: states.add_page(job, n, job.files[n].pages, failure, 10),
        N,
        st.sampled_from([None, None, BAD]),
    ),
    st.builds(
        lambda n, failure: lambda job: states.finish_file(job, n, failure, 100.0),
        N,
        st.sampled_from([None, None, BAD]),
    ),
    st.just(lambda job: states.cancel(job, 100.0)),
    st.just(lambda job: states.expire(job, 200.0)),
)


def retold(events: Sequence[Event]) -> tuple[str, dict[int, str], dict[int, int]]:
    """The job's state, its files' and their page counts, from the events alone."""
    state, files, pages = "", dict.fromkeys(range(3), QUEUED), dict.fromkeys(range(3), 0)
    for event in events:
        data = event.data
        if event.kind == "job":
            state = str(data["state"])
            if state in (CANCELLED, EXPIRED):
                ends = {n: state for n in files if state == EXPIRED or files[n] in UNFINISHED}
                files |= ends
        elif event.kind == "file":
            files[int(str(data["file"]))] = str(data["state"])
        else:
            n = int(str(data["file"]))
            assert data["page"] == pages[n], "each page once, in its order"
            pages[n] += 1
    return state, files, pages


@given(st.lists(STEPS, max_size=25))
def test_whatever_happens_the_events_tell_the_whole_story(steps: list[Step]) -> None:
    change = states.accept(some_job(files=3))
    job, events = change.job, list(change.events)
    for step in steps:
        before = job
        change = step(job)
        job = change.job
        events += change.events
        assert change.events or job.state == before.state
        if before.finished:
            assert job.state in (before.state, EXPIRED), "an end is an end"
        for was, now in zip(before.files, job.files, strict=True):
            assert now.pages >= was.pages
            assert not was.finished or now.state in (was.state, EXPIRED)
    assert [e.id for e in events] == list(range(1, job.events + 1))
    state, files, pages = retold(events)
    assert state == job.state
    assert files == {n: f.state for n, f in enumerate(job.files)}
    assert pages == {n: f.pages for n, f in enumerate(job.files)}
    assert job.finished == all(f.finished for f in job.files)
    assert job.finished == (job.expires is not None)
    if job.state == DONE:
        assert any(f.state == DONE for f in job.files)
    if job.state == EXPIRED:
        assert job.stored_bytes == 0


def after(*steps: Step, files: int = 1) -> Job:
    job = states.accept(some_job(files=files)).job
    for step in steps:
        job = step(job).job
    return job


def begin(n: int = 0) -> Step:
    return lambda job: states.begin_file(job, n, 1, ENGINE)


def page(n: int = 0, failure: Failure | None = None) -> Step:
    return lambda job: states.add_page(job, n, job.files[n].pages, failure, 10)


def finish(n: int = 0, failure: Failure | None = None) -> Step:
    return lambda job: states.finish_file(job, n, failure, 9.0)


def test_one_file_that_was_read_makes_a_job_done() -> None:
    job = after(begin(), page(), finish(), begin(1), page(1, BAD), finish(1), files=2)
    assert job.state == DONE and job.expires == 9.0
    assert [f.state for f in job.files] == [DONE, FAILED]
    assert job.files[1].error == Failure(code="bad_image", message="no page could be read")


def test_no_file_that_was_read_makes_it_failed() -> None:
    assert after(finish(failure=BAD)).state == FAILED


def test_a_job_runs_from_its_first_file_to_its_last() -> None:
    assert after(files=2).state == QUEUED
    assert after(begin(), files=2).state == RUNNING
    between = after(begin(), page(), finish(), files=2)
    assert between.state == RUNNING and between.next_file == 1


def test_a_file_that_is_begun_again_goes_on() -> None:
    job = after(begin(), page())
    again = states.begin_file(job, 0, 1, ENGINE)
    assert again.events == () and again.job.files[0].pages == 1


def test_what_was_read_before_it_was_cancelled_stays() -> None:
    job = after(begin(), page(), finish(), lambda j: states.cancel(j, 5.0), files=2)
    assert job.state == CANCELLED and [f.state for f in job.files] == [DONE, CANCELLED]


def test_a_page_that_is_not_the_next_is_refused() -> None:
    job = after(begin(), page())
    with pytest.raises(TierocrError, match="page 0 came where page 1 is next"):
        states.add_page(job, 0, 0, None, 10)


def test_uploads_weigh_until_the_job_ends_and_results_until_it_expires() -> None:
    begun = after(begin(), page())
    assert begun.stored_bytes == begun.files[0].bytes + 10
    done = finish()(begun).job
    assert done.stored_bytes == 10
    assert states.expire(done, 50.0).job.stored_bytes == 0


def test_uploads_that_are_kept_weigh_as_long_as_the_results() -> None:
    begun = after(begin(), page())
    whole = begun.files[0].bytes + 10
    done = finish()(begun).job
    assert [job.weight(True) for job in (begun, done)] == [whole, whole]
    assert [job.weight(False) for job in (begun, done)] == [whole, 10]
    assert states.expire(done, 50.0).job.weight(True) == 0
    assert states.cancel(begun, 50.0).job.weight(True) == 10
