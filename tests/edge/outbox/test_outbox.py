"""The outbox on a real disk: what it says is safe is there after it was opened again."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.planned import planned, told
from tierocr.edge.disk import Disk
from tierocr.edge.outbox.ageing import LONGEST_OFF
from tierocr.edge.outbox.choices import Bounds
from tierocr.edge.outbox.outbox import Outbox
from tierocr.edge.outbox.seen import Seen
from tierocr.edge.outbox.states import EXPIRED, FAILED, NO_ROOM, QUEUED, READ, RECEIVED, REFINED
from tierocr.edge.outbox.values import Arrival, Due, Kept, Rules
from tierocr.shared.document import Failure, Page
from tierocr.shared.errors import TierocrError

BOUNDS = Bounds(max_bytes=1 << 20, max_documents=100, when_full="drop_oldest")
RULES = Rules(bounds=BOUNDS, expire_seconds=100, free_bytes=0)
INBOX = Arrival(source="inbox", name="scan.jpg")


class Box:
    """Opens the same folder again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._open = folder, list[Outbox]()

    def open(self, *sinks: str, **more: Any) -> Outbox:
        self.close()
        rules = replace(RULES, **{k: more.pop(k) for k in list(more) if hasattr(RULES, k)})
        box = Outbox(self.folder, rules, sinks or ("out",), **{"wall": 0.0, **more})
        self._open.append(box)
        return box

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    @property
    def files(self) -> list[str]:
        return sorted(p.name for n in ("crops", "originals") for p in (self.folder / n).iterdir())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path / "state")
    yield box
    box.close()


def keep(outbox: Outbox, data: bytes, *pages: list[str], now: float = 0.0, **more: Any) -> Kept:
    arrival = more.pop("arrival", INBOX)
    kept = outbox.incoming.keep(
        arrival, data, planned(data, *(pages or (["hello", "sun"],)), **more), now
    )
    assert kept is not None
    return kept


def capitals(page: Page) -> Page:
    return replace(page, lines=tuple(replace(li, text=li.text.upper()) for li in page.lines))


def deliver_all(outbox: Outbox, sink: str = "out", now: float = 1.0) -> list[Due]:
    found = []
    while (due := outbox.outgoing.next(sink, now)) is not None:
        found.append(due)
        outbox.outgoing.delivered(due, now)
    return found


# -- a document's life -------------------------------------------------------------------------


def test_provisional_at_once_and_final_once_refined(box: Box) -> None:
    outbox = box.open()
    entry = keep(outbox, b"1").entry
    assert entry.state == QUEUED
    (first,) = deliver_all(outbox)
    assert (first.document.status, first.document.version) == ("provisional", 1)
    assert not first.delivery.final
    work = outbox.refinements.next_work(1.0)
    assert work is not None and told(work.sent) == ["hello"]
    assert outbox.refinements.next_work(1.0) is None, "it is under way"
    assert outbox.refinements.answered(work, capitals(work.page)).state == REFINED
    (last,) = deliver_all(outbox)
    assert (last.document.status, last.document.version) == ("final", 2)
    assert last.document.id == first.document.id
    assert [line.text for line in last.document.pages[0].lines] == ["HELLO", "SUN"]
    assert outbox.status(3.0).load.documents == 0 and box.files == []


def test_with_nothing_to_send_it_is_final_at_once(box: Box) -> None:
    outbox = box.open()
    assert keep(outbox, b"1", unsure=0).entry.state == READ
    (only,) = deliver_all(outbox)
    assert (only.document.status, only.document.version, only.delivery.final) == ("final", 1, True)
    assert outbox.status(1.0).load == replace(outbox.status(1.0).load, bytes=0, documents=0)


def test_a_provisional_version_that_is_overtaken_is_not_delivered(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1")
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.answered(work, work.page)
    assert [d.document.version for d in deliver_all(outbox)] == [2]


def test_each_sink_gets_each_final(box: Box) -> None:
    outbox = box.open("a", "b")
    keep(outbox, b"1", unsure=0)
    assert len(deliver_all(outbox, "a")) == 1
    assert outbox.status(0.0).load.documents == 1
    assert len(deliver_all(outbox, "b")) == 1
    assert outbox.status(0.0).load.documents == 0


def test_a_sink_that_is_gone_holds_up_nobody(box: Box) -> None:
    outbox = box.open("a", "b")
    keep(outbox, b"1", unsure=0)
    deliver_all(outbox, "a")
    assert box.open("a").status(0.0).load.documents == 0


def test_it_expires_with_what_there_is(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1", ["a"], ["b"])
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.answered(work, capitals(work.page))
    assert outbox.refinements.expire(99.0) == []
    (entry,) = outbox.refinements.expire(100.0)
    assert entry.state == EXPIRED and box.files == []
    (due,) = deliver_all(outbox)
    assert [p.lines[0].text for p in due.document.pages] == ["A", "b"]
    assert (due.document.status, due.document.errors[0].code) == ("final", "deadline_exceeded")


def test_an_answer_that_comes_too_late_changes_nothing(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1")
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.expire(100.0)
    assert outbox.refinements.answered(work, capitals(work.page)).state == EXPIRED
    outbox.refinements.postponed(work, 102.0)
    (due,) = deliver_all(outbox)
    assert due.document.pages[0].lines[0].text == "hello"


def test_a_page_that_the_cloud_refuses_stays_as_it_is(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1", ["a"], ["b"])
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.refused(work, TierocrError("too_large", "no"))
    work = outbox.refinements.next_work(0.0)
    assert work is not None and work.page.index == 1
    assert outbox.refinements.answered(work, capitals(work.page)).state == REFINED
    (due,) = deliver_all(outbox)
    assert [p.lines[0].text for p in due.document.pages] == ["a", "B"]
    assert due.document.errors == (Failure(code="too_large", message="no"),)


def test_a_postponed_page_waits_and_counts(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1")
    work = outbox.refinements.next_work(0.0)
    assert work is not None and work.attempts == 0
    outbox.refinements.postponed(work, 7.0)
    assert (
        outbox.refinements.next_work(6.0) is None and outbox.refinements.next_work_due(6.0) == 7.0
    )
    work = outbox.refinements.next_work(7.0)
    assert work is not None and work.attempts == 1
    outbox.refinements.postponed(work, None)
    assert outbox.refinements.next_work(7.0) is not None


def test_what_could_not_be_read_is_told_once(box: Box) -> None:
    outbox = box.open()
    failure = Failure(code="encrypted", message="it needs a password")
    assert keep(outbox, b"1", [], failure=failure).entry.state == FAILED
    (due,) = deliver_all(outbox)
    assert (due.document.status, due.delivery.final) == ("failed", True)


# -- again and again ---------------------------------------------------------------------------


def test_identical_bytes_are_a_duplicate_also_when_they_are_finished(box: Box) -> None:
    outbox = box.open()
    first = keep(outbox, b"1", unsure=0)
    again = keep(outbox, b"1", arrival=Arrival(source="inbox", name="other.jpg"))
    assert again.duplicate and again.entry.number == first.entry.number
    deliver_all(outbox)
    assert keep(outbox, b"1").duplicate and deliver_all(outbox) == []


def test_a_name_that_comes_again_is_a_document_of_its_own(box: Box) -> None:
    outbox = box.open(occupied=lambda name: name == "scan.3.jpg")
    outputs = [keep(outbox, bytes([n])).entry.output for n in range(3)]
    assert outputs == ["scan.jpg", "scan.2.jpg", "scan.4.jpg"]


def test_names_need_not_be_text(box: Box) -> None:
    name = os.fsdecode(b"sub/\xc9\xa8\xc3\xe8.jpg")
    seen = Seen(source="inbox", path=name, size=1, mtime=2)
    arrival = Arrival(source="inbox", name=name, seen=seen)
    kept = keep(box.open(), b"1", name=name, arrival=arrival)
    outbox = box.open()
    found = outbox.incoming.find(kept.entry.id)
    assert found is not None and found.name == found.output == name
    assert outbox.incoming.seen("inbox") == {name: (1, 2)} and outbox.incoming.seen("other") == {}
    assert deliver_all(outbox)[0].document.name == name
    outbox.incoming.unsee("inbox", [name])
    assert outbox.incoming.seen("inbox") == {}


def test_finished_documents_are_forgotten_in_time(box: Box) -> None:
    outbox = box.open(history=1, history_seconds=50)
    ids = [keep(outbox, bytes([n]), unsure=0).entry.id for n in range(3)]
    for now in (1.0, 2.0, 3.0):
        due = outbox.outgoing.next("out", now)
        assert due is not None
        outbox.outgoing.delivered(due, now)
    outbox.forget(4.0)
    assert [outbox.incoming.find(i) is not None for i in ids] == [False, False, True]
    outbox.forget(60.0)
    assert outbox.incoming.find(ids[2]) is None


# -- restart -----------------------------------------------------------------------------------


def test_everything_goes_on_after_a_restart(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1", ["a"], ["b"])
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.answered(work, capitals(work.page))
    assert outbox.refinements.next_work(0.0) is not None  # sent, and then the power goes
    again = box.open()
    work = again.refinements.next_work(0.0)
    assert work is not None and work.page.lines[0].text == "b"
    again.refinements.answered(work, capitals(work.page))
    (due,) = deliver_all(again)
    assert [p.lines[0].text for p in due.document.pages] == ["A", "B"]
    assert (due.document.version, due.document.status) == (2, "final")


def test_a_delivery_that_was_not_confirmed_is_made_again_the_same(box: Box) -> None:
    keep(box.open(), b"1", unsure=0)
    one = box.open().outgoing.next("out", 0.0)
    two = box.open().outgoing.next("out", 0.0)
    assert one is not None and two is not None
    assert one.document == two.document and one.delivery == two.delivery


def test_its_time_goes_on_whatever_is_done_to_the_clock(box: Box) -> None:
    outbox = box.open(wall=1000.0)
    assert outbox.started == 1000.0
    keep(outbox, b"1", now=1000.0)
    outbox.note_moment(1050.0, 50.0)
    assert box.open(wall=1.7e9).started == 1050.0 + LONGEST_OFF, "a day, not decades"
    outbox = box.open(wall=-5.0)
    assert outbox.started == 1050.0
    assert outbox.refinements.expire(outbox.started) == []
    assert [e.state for e in outbox.refinements.expire(outbox.started + 50)] == [EXPIRED]


def test_files_without_a_row_are_swept_away(box: Box) -> None:
    keep(box.open(), b"1")
    for name in ("crops/sha256-1.0", "crops/x.part", "originals/sha256-2"):
        (box.folder / name).write_bytes(b"left by a kill")
    box.open()
    assert len(box.files) == 1


def test_an_attempt_is_forgotten_at_a_start_once_its_document_was_read(box: Box) -> None:
    outbox = box.open()
    kept, waiting = keep(outbox, b"1").entry, outbox.incoming.receive(INBOX, b"2", 0.0)
    assert waiting is not None
    for document in (kept.id, waiting.entry.id, "sha256-never-kept"):
        outbox.attempts.begin(document)
    again = box.open().attempts
    assert [again.of(d) for d in (kept.id, waiting.entry.id, "sha256-never-kept")] == [0, 1, 1]


def test_crops_that_are_damaged_cost_their_page_alone(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1")
    keep(outbox, b"2")
    (box.folder / "crops" / box.files[0]).write_bytes(b"\xc1")
    (box.folder / "crops" / box.files[1]).unlink()
    keep(outbox, b"3")
    work = outbox.refinements.next_work(0.0)
    assert work is not None and work.entry.number == 3
    assert {d.document.errors[0].code for d in deliver_all(outbox) if d.delivery.final} == {
        "internal"
    }


def test_a_second_process_is_turned_away(box: Box, tmp_path: Path) -> None:
    box.open()
    with pytest.raises(TierocrError) as caught:
        Outbox(box.folder, RULES, ["out"], wall=0.0)
    assert caught.value.code == "config_invalid"


def test_a_newer_database_is_refused(box: Box) -> None:
    box.open()
    box.close()
    connection = sqlite3.connect(box.folder / "outbox.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(TierocrError):
        box.open()


# -- documents without a file of their own -----------------------------------------------------


def test_received_bytes_wait_to_be_read(box: Box) -> None:
    outbox = box.open()
    kept = outbox.incoming.receive(Arrival(source="stdin", name="page"), b"bytes", 0.0)
    assert kept is not None and kept.entry.state == RECEIVED
    again = outbox.incoming.receive(Arrival(source="stdin", name="page"), b"bytes", 0.0)
    assert again is not None and again.duplicate
    outbox = box.open()
    found = outbox.incoming.next_received()
    assert found is not None and found[1] == b"bytes"
    keep(outbox, b"bytes", arrival=Arrival(source="stdin", name="page"))
    assert outbox.incoming.next_received() is None
    assert [name for name in box.files if "." not in name] == []
    assert len(deliver_all(outbox)) == 1


def test_originals_are_kept_until_the_last_delivery(box: Box) -> None:
    outbox = box.open(keep_originals=True)
    entry = keep(outbox, b"bytes", unsure=0).entry
    assert outbox.original(entry.id) == b"bytes"
    deliver_all(outbox)
    assert box.files == []
    with pytest.raises(TierocrError) as caught:
        outbox.original(entry.id)
    assert caught.value.code == "not_found"


# -- bounds ------------------------------------------------------------------------------------


def flood(box: Box, when_full: str, count: int = 30) -> tuple[Outbox, list[Kept | None]]:
    bounds = Bounds(max_bytes=20_000, max_documents=100, when_full=when_full)  # type: ignore[arg-type]
    outbox = box.open(bounds=bounds)
    kept = []
    for n in range(count):
        data = bytes([n])
        crop = os.urandom(2000)
        kept.append(outbox.incoming.keep(INBOX, data, planned(data, ["abc"], crop=crop), 0.0))
        deliver_all(outbox)
        assert outbox.status(0.0).load.bytes <= 20_000
        size = sum((box.folder / "crops" / f).stat().st_size for f in box.files)
        assert size <= 20_000
    return outbox, kept


@pytest.mark.parametrize("when_full", ["drop_oldest", "drop_least_valuable"])
def test_dropping_makes_documents_final_with_the_text_of_the_edge(box: Box, when_full: str) -> None:
    _, kept = flood(box, when_full)
    assert all(kept)
    dropped = [e for k in kept if k for e in k.dropped]
    if when_full == "drop_oldest":
        assert [e.number for e in dropped] == list(range(1, len(dropped) + 1))
    assert all(e.reason == NO_ROOM for e in dropped)
    assert len(dropped) >= 15
    own = {k.entry.number for k in kept if k and k.entry.reason == NO_ROOM}
    assert own <= {e.number for e in dropped}  # who gave way itself is told of like the others
    assert len({e.number for e in dropped}) == len(dropped)


def test_blocking_lets_nothing_in_until_there_is_room(box: Box) -> None:
    outbox, kept = flood(box, "block")
    assert 3 < sum(k is not None for k in kept) < 12
    assert kept[-1] is None
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.answered(work, work.page)
    deliver_all(outbox)
    assert outbox.incoming.keep(INBOX, b"new", planned(b"new", ["abc"], crop=bytes(2000)), 0.0)


def test_narrower_bounds_hold_from_the_next_start_on(box: Box) -> None:
    outbox = box.open()
    for n in range(10):
        keep(outbox, bytes([n]), ["abc"], crop=os.urandom(2000))
    narrow = Bounds(max_bytes=9_000, max_documents=100, when_full="drop_oldest")
    outbox = box.open(bounds=narrow)
    assert outbox.status(0.0).load.bytes <= 9_000 and len(box.files) < 5
    assert len(deliver_all(outbox)) == 10


# -- a full disk -------------------------------------------------------------------------------


class FullDisk(Disk):
    """Takes so many bytes more; what it is asked to put beyond that it puts in part."""

    def __init__(self, room: int) -> None:
        self.room = room

    def put(self, handle: int, data: bytes) -> None:
        super().put(handle, data[: self.room])
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)

    def free(self, folder: Path) -> int:
        return self.room


@pytest.mark.parametrize("room", [0, 10, 150])
def test_a_full_disk_leaves_no_trace_and_no_dead_end(box: Box, room: int) -> None:
    disk = FullDisk(10_000)
    outbox = box.open(disk=disk)
    keep(outbox, b"1")
    disk.room = room
    with pytest.raises(TierocrError) as caught:
        outbox.incoming.keep(INBOX, b"2", planned(b"2", ["a"], ["b"]), 0.0)
    assert caught.value.code == "over_capacity"
    assert len(box.files) == 1 and outbox.status(0.0).load.documents == 1
    work = outbox.refinements.next_work(0.0)
    assert work is not None
    outbox.refinements.answered(work, work.page)
    assert len(deliver_all(outbox)) == 1
    disk.room = 10_000
    assert not keep(outbox, b"2").duplicate


def test_space_that_must_stay_free_stays_free(box: Box) -> None:
    outbox = box.open(disk=FullDisk(10_000), free_bytes=9_999)
    with pytest.raises(TierocrError) as caught:
        keep(outbox, b"1")
    assert caught.value.code == "over_capacity"


def test_a_full_database_leaves_no_trace(box: Box) -> None:
    outbox = box.open()
    keep(outbox, b"1")
    database = outbox.store.database
    ((pages,),) = database.rows("PRAGMA page_count")
    database.run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(TierocrError) as caught:
        outbox.incoming.keep(
            INBOX, b"2", planned(b"2", *([os.urandom(900).hex()] for _ in range(9))), 0.0
        )
    assert caught.value.code == "over_capacity"
    assert len(box.files) == 1 and outbox.incoming.find("sha256-1") is None
    database.run("PRAGMA max_page_count = 1000000")
    keep(outbox, b"2")
