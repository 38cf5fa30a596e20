from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.documents import ENGINE, line_at, page_with
from tests.fakes.engines import painted_reader
from tests.fakes.jobs import some_job
from tests.fakes.painted import paint
from tierocr.cloud.jobs import states
from tierocr.cloud.jobs.disk import storage_error
from tierocr.cloud.jobs.pages import StoredPage, pack_page, unpack_page
from tierocr.cloud.jobs.states import DONE, EXPIRED, Job
from tierocr.cloud.jobs.store import DATABASE, JobStore
from tierocr.shared.document import Alternative, Failure, Page, PageImage, Route
from tierocr.shared.errors import TierocrError

PAGE = StoredPage(page=page_with([line_at("Tür 中", 10, 20)]), seconds={"detect": 0.25})
PACKED = pack_page(PAGE)


@contextmanager
def opened(folder: Path) -> Iterator[JobStore]:
    with closing(JobStore(folder)) as store:
        yield store


def stored(store: JobStore, number: int = 1, files: int = 1) -> Job:
    job = some_job(number, files=files)
    folder = store.upload_folder(job.id)
    folder.mkdir(parents=True)
    for n in range(files):
        (folder / str(n)).write_bytes(b"picture")
    change = states.accept(job)
    store.add(change)
    return change.job


def read(store: JobStore, job: Job, pages: int = 1) -> Job:
    """The first file is begun and has so many pages."""
    change = states.begin_file(job, 0, pages, ENGINE)
    store.apply(job, change)
    for index in range(pages):
        job, content = change.job, pack_page(PAGE)
        change = states.add_page(job, 0, index, None, len(content))
        store.apply(job, change, (0, index, content))
    return change.job


def test_what_was_stored_is_there_for_the_next_process(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        job = read(store, stored(store, files=2), pages=2)
        change = states.finish_file(job, 0, Failure(code="bad_image", message="ü"), 9.0)
        store.apply(job, change)
        events = store.events(job.id, 0)
    with opened(tmp_path) as store:
        assert store.load() == [change.job]
        assert store.pages(job.id, 0) == [PACKED, PACKED]
        assert store.events(job.id, 0) == events
        assert [e.id for e in store.events(job.id, 3)] == list(range(4, change.job.events + 1))
        assert store.read_upload(job.id, 1) == b"picture"


def test_a_page_can_be_stored_once_only(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        job = read(store, stored(store))
        change = states.add_page(job, 0, 1, None, 10)
        with pytest.raises(TierocrError):
            store.apply(job, change, (0, 0, b"again"))
        assert store.pages(job.id, 0) == [PACKED]
        assert store.load() == [job], "what could not be written left no trace"


def test_uploads_go_when_the_job_ends_and_pages_when_it_expires(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        job = read(store, stored(store))
        change = states.finish_file(job, 0, None, 9.0)
        store.apply(job, change)
        assert change.job.state == DONE and not store.upload_folder(job.id).exists()
        assert store.pages(job.id, 0) == [PACKED]
        store.apply(change.job, states.expire(change.job, 20.0))
        assert store.pages(job.id, 0) == []
        assert [j.state for j in store.load()] == [EXPIRED]
        store.forget(job.id)
        assert store.load() == [] and store.events(job.id, 0) == []


def test_uploads_that_were_cut_off_are_removed(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        job = stored(store)
        store.upload_folder("half").mkdir()
    with opened(tmp_path) as store:
        store.load()
        assert store.upload_folder(job.id).exists()
        assert not store.upload_folder("half").exists()


def test_a_second_process_is_turned_away(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(TierocrError, match="another process") as raised:
        JobStore(tmp_path)
    assert raised.value.code == "config_invalid"


def test_a_store_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(TierocrError, match="version 99"):
        JobStore(tmp_path)


def test_a_folder_that_cannot_be_used_is_a_mistake_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(TierocrError, match=r"jobs\.folder"):
            JobStore(folder)
    (tmp_path / DATABASE).write_bytes(b"no database at all" * 100)
    with pytest.raises(TierocrError, match=r"jobs\.folder"):
        JobStore(tmp_path)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        job = stored(store)
        (store.upload_folder(job.id) / "0").unlink()
        with pytest.raises(TierocrError) as raised:
            store.read_upload(job.id, 0)
        assert raised.value.code == "internal"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "full"), "over_capacity"),
        (OSError(errno.EIO, "broken"), "unavailable"),
        (sqlite3.OperationalError("database or disk is full"), "over_capacity"),
        (sqlite3.OperationalError("disk I/O error"), "unavailable"),
    ],
)
def test_what_a_failing_disk_means(error: OSError | sqlite3.Error, code: str) -> None:
    assert storage_error(error).code == code


def test_a_page_comes_back_as_it_was() -> None:
    line = line_at(
        "x",
        0.1 + 0.2,
        1 / 3,
        alternatives=(Alternative(text="y", source="edge", score_raw=0.1),),
        route=Route(reason="odd", p_error=0.3),
    )
    page = StoredPage(page=page_with([line]), seconds={"decode": 0.1})
    assert unpack_page(pack_page(page)) == page
    failed = Page(index=3, width=0, height=0, error=Failure(code="bad_image", message="ü"))
    assert unpack_page(pack_page(StoredPage(page=failed, seconds={}))).page == failed


def test_a_page_that_was_read_comes_back_as_it_was(painted_page: StoredPage) -> None:
    assert painted_page.page.lines
    assert unpack_page(pack_page(painted_page)) == painted_page


@pytest.fixture
def painted_page() -> StoredPage:
    reader, _ = painted_reader()
    pixels = np.pad(paint("bonus"), ((100, 100), (90, 90), (0, 0)), constant_values=255)
    timed = reader.read(PageImage(pixels=pixels))
    return StoredPage(page=timed.page, seconds=timed.seconds)


def test_a_full_disk_loses_nothing_and_is_over_when_there_is_room(small_disk: Path) -> None:
    with opened(small_disk) as store:
        job = read(store, stored(store))
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="space"), ballast.open("wb") as file:
            for _ in range(100):
                file.write(bytes(100_000))
        content = pack_page(PAGE) + b" " * 500_000
        change = states.add_page(job, 0, 1, None, len(content))
        with pytest.raises(TierocrError) as raised:
            store.apply(job, change, (0, 1, content))
        assert raised.value.code == "over_capacity"
        assert store.pages(job.id, 0) == [PACKED]
        assert store.load() == [job]
        ballast.unlink()
        store.apply(job, change, (0, 1, content))
        assert len(store.pages(job.id, 0)) == 2
    with opened(small_disk) as store:
        assert store.load() == [change.job]
