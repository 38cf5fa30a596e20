"""Sender, courier and intake over a real outbox, with clouds and sinks that fail when told to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.fakes.cloud import (
    Answer,
    FakeCloud,
    FileAnswer,
    FileCall,
    body,
    fake_cloud,
    file_answer,
    hang,
    problem,
    reading,
    results,
    right,
    status,
)
from tests.fakes.painted import png
from tests.fakes.planned import planned, told
from tests.fakes.rows import page, rows_reader, tiff
from tierocr.edge.allowance import Budget
from tierocr.edge.breaker import Breaker
from tierocr.edge.courier import Courier
from tierocr.edge.intake import ReadingIntake
from tierocr.edge.metering import Meter
from tierocr.edge.outbox.choices import Bounds
from tierocr.edge.outbox.incoming import TALLY
from tierocr.edge.outbox.outbox import Outbox
from tierocr.edge.outbox.states import Entry
from tierocr.edge.outbox.threaded import ThreadedOutbox
from tierocr.edge.outbox.values import Arrival, Due, Rules
from tierocr.edge.planning import Planner
from tierocr.edge.privacy.painting import guarded_lines, guarded_pages
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.routing import WHOLE, RoutingPolicy, Spent
from tierocr.edge.sender import Retries, Sender
from tierocr.edge.sinks import Undelivered
from tierocr.edge.sinks.contents import Original
from tierocr.edge.tally import load
from tierocr.edge.tiering import TieredReader
from tierocr.shared.document import EngineInfo, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.json import to_json
from tierocr.shared.reading import read_bytes

FAST = Retries(first=0.01, longest=0.05)
ALL = RoutingPolicy(threshold=0.97, max_share=1.0, bytes_per_page=10**7)


async def until(met: Callable[[], Awaitable[bool]]) -> None:
    async def wait() -> None:
        while not await met():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), 30)


@contextlib.asynccontextmanager
async def running(*loops: Any) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
        for task in tasks:
            assert not task.done() or task.result() is None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Desk:
    """An outbox with documents in it."""

    def __init__(self, folder: Path, **bounds: Any) -> None:
        values = {"max_bytes": 1 << 24, "max_documents": 99, "when_full": "drop_oldest", **bounds}
        rules = Rules(bounds=Bounds(**values), free_bytes=0)
        self.box = ThreadedOutbox(Outbox(folder, rules, ["x"], wall=0.0))

    async def keep(self, data: bytes, *pages: list[str]) -> Entry:
        document = planned(data, *(pages or (["hello", "sun"],)))
        arrival = Arrival(source="inbox", name="a.png")
        kept = await self.box.call(lambda box: box.incoming.keep(arrival, data, document, 0.0))
        assert kept is not None
        self.box.tell()
        return kept.entry

    async def state(self, entry: Entry) -> str:
        found = await self.box.call(lambda box: box.incoming.find(entry.id))
        assert found is not None
        return found.state

    async def due(self) -> Due:
        found = await self.box.call(lambda box: box.outgoing.next("x", 1e12))
        assert found is not None
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    made = Desk(tmp_path / "state")
    yield made
    made.box.close()


# -- to the cloud ------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def sending(desk: Desk, url: str, deadline: float = 1.0) -> AsyncIterator[Sender]:
    breaker = Breaker(failures_to_open=1, rest=0.01)
    async with Refiner(CloudAddress(url=url, deadline=deadline), breaker=breaker) as refiner:
        sender = Sender(desk.box, refiner, breaker, retries=FAST, clock=time.time)
        async with running(sender.run()):
            yield sender


@pytest.mark.parametrize(
    "nasty",
    [
        (status(503, Retry_After="0.01"),),
        (status(500), status(502)),
        (body(b"nonsense"), body(b"")),
        (hang,),
        (problem(401, {"code": "unauthorized"}),),
    ],
)
async def test_a_cloud_that_comes_back_is_used(desk: Desk, nasty: tuple[Answer, ...]) -> None:
    entries = [await desk.keep(bytes([n])) for n in range(5)]
    with fake_cloud(*nasty, right) as cloud:
        async with sending(desk, cloud.url, 0.2) as sender:

            async def all_refined() -> bool:
                return {await desk.state(e) for e in entries} == {"refined"}

            await until(all_refined)
            assert sender.reachable
    due = await desk.due()
    assert due.document.pages[0].lines[0].text == "HELLO"
    assert due.document.version == 2


async def test_what_the_cloud_will_never_take_goes_out_as_it_is(desk: Desk) -> None:
    entry, other = await desk.keep(b"1"), await desk.keep(b"2")
    with fake_cloud(problem(413, {"code": "too_large", "detail": "no"}), right) as cloud:
        async with sending(desk, cloud.url):

            async def both() -> bool:
                return {await desk.state(entry), await desk.state(other)} == {"refined"}

            await until(both)
    due = await desk.due()
    assert due.document.pages[0].lines[0].text == "hello"
    assert due.document.errors[0].code == "too_large"


async def test_a_dead_cloud_is_asked_by_one_at_a_time(desk: Desk) -> None:
    for n in range(20):
        await desk.keep(bytes([n]))
    under_way, most = 0, 0

    async def count(request: Any, call: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.02)
        under_way -= 1
        return await hang(request, call)

    with fake_cloud(hang, hang, count) as cloud:
        async with sending(desk, cloud.url, 0.05):

            async def tried() -> bool:
                return len(cloud.calls) > 6

            await until(tried)
    assert most <= 1


async def test_a_resend_has_the_same_key(desk: Desk) -> None:
    entry = await desk.keep(b"1")
    with fake_cloud(hang, status(500), right) as cloud:
        async with sending(desk, cloud.url, 0.1):

            async def refined() -> bool:
                return await desk.state(entry) == "refined"

            await until(refined)
        assert len(cloud.calls) >= 3
        assert len({c.headers["Idempotency-Key"] for c in cloud.calls}) == 1


async def test_long_documents_do_not_hold_up_short_ones(desk: Desk) -> None:
    await desk.keep(b"long", *[[f"page{chr(97 + n)}"] for n in range(10)])
    short = await desk.keep(b"short")
    same = results(lambda m: [reading(r.id, r.text) for r in m.regions])
    with fake_cloud(same) as cloud:
        async with sending(desk, cloud.url):

            async def refined() -> bool:
                return await desk.state(short) == "refined"

            await until(refined)
        assert "hello" in cloud.lines[:3]


# -- to a sink ---------------------------------------------------------------------------------


@dataclass
class FakeSink:
    """Fails as often as it is told, then takes everything."""

    failures: list[Undelivered] = field(default_factory=list)
    got: list[tuple[str, int, str]] = field(default_factory=list)
    name: str = "x"
    opened: int = 0

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.opened -= 1

    def occupied(self, output: str) -> bool:
        return False

    async def deliver(self, due: Due, original: Original) -> None:
        if self.failures:
            raise self.failures.pop()
        document = due.document
        self.got.append((document.id, document.version, document.status))


async def test_everything_arrives_whatever_fails_before(desk: Desk) -> None:
    sink = FakeSink([Undelivered("away"), Undelivered("busy", retry_after=0.02)] * 3)
    async with running(Courier(desk.box, sink, retries=FAST, clock=time.time).run()):
        entries = [await desk.keep(bytes([n]), ["sun"]) for n in range(4)]

        async def arrived() -> bool:
            return len(sink.got) == 4

        await until(arrived)
        assert sink.opened == 1
    assert sink.opened == 0
    assert sorted(sink.got) == sorted((e.id, 1, "provisional") for e in entries)


async def test_what_a_sink_never_takes_is_given_up_alone(desk: Desk) -> None:
    sink = FakeSink([Undelivered("no", hopeless=True)])
    first, second = await desk.keep(b"1"), await desk.keep(b"2")
    async with running(Courier(desk.box, sink, retries=FAST, clock=time.time).run()):

        async def arrived() -> bool:
            return len(sink.got) == 1

        await until(arrived)
    assert sink.got == [(second.id, 1, "provisional")]
    assert await desk.state(first) == "queued"


# -- coming in ---------------------------------------------------------------------------------


def reader(before: Callable[[], None] = lambda: None) -> TieredReader:
    return TieredReader(rows_reader(before), planner=Planner(ALL))


async def test_reading_and_keeping(desk: Desk) -> None:
    tiered = reader()
    intake, data = ReadingIntake(tiered, desk.box, clock=time.time), png(page("hello", "sun"))
    arrival = Arrival(source="inbox", name="a.png")
    assert await intake.take(arrival, data, last=False) is None
    assert await intake.take(arrival, data, last=False) is None, "a quiet duplicate"
    due = await desk.due()
    assert [line.text for line in due.document.pages[0].lines] == ["hello", "sun"]
    assert due.document.engine == EngineInfo(
        pack="painted", precision="f32", runtime="fake 1.0 CPU"
    )
    work = await desk.box.call(lambda box: box.refinements.next_work(0.0))
    assert work is not None and told(work.sent) == ["hello"]
    refused = await intake.take(arrival, data[:40], last=False)
    assert refused is not None and not refused.hopeless
    tiered.close()


async def test_what_was_planned_counts_after_a_restart(desk: Desk) -> None:
    planner = Planner(ALL)
    tiered = TieredReader(rows_reader(), planner=planner)
    intake = ReadingIntake(tiered, desk.box, clock=time.time)
    await intake.take(Arrival(source="inbox", name="a.png"), png(page("hello", "sun")), last=False)
    tiered.close()
    assert load(await desk.box.call(lambda box: box.note(TALLY)), ALL) == planner.spent
    assert planner.spent.sent_lines == 1


async def test_what_will_not_be_sent_is_not_counted() -> None:
    planner = Planner(ALL)
    tiered = TieredReader(rows_reader(), planner=planner)
    read = await tiered.read_here(png(page("hello")), "a.png", send=False)
    tiered.close()
    assert planner.spent == Spent() and [p.sent for p in read.pages] == [()]
    assert read.document.pages[0].lines[0].text == "hello"


async def whole_pages_of(
    desk: Desk, policy: RoutingPolicy, pages: Sequence[Pixels], *answers: FileAnswer
) -> tuple[Due, FakeCloud]:
    """The final version of these pages, which may leave as a whole, and what the cloud saw."""
    rules = PrivacySettings(allow="pages").rules_of
    planner = Planner(policy, guarded_lines(rules), guarded_pages(rules))
    tiered, data = TieredReader(rows_reader(), planner=planner), tiff(pages)
    intake = ReadingIntake(tiered, desk.box, clock=time.time)
    await intake.take(Arrival(source="inbox", name="a.tiff"), data, last=False)
    tiered.close()
    with fake_cloud(right, files=answers) as cloud:
        async with sending(desk, cloud.url):
            due = await desk.due()
            while not due.delivery.final:
                await asyncio.sleep(0.01)
                due = await desk.due()
    return due, cloud


def reads(*texts: str) -> Callable[[FileCall], bytes]:
    """A cloud that reads the picture as such a page, in capitals."""

    def read(call: FileCall) -> bytes:
        document = read_bytes(call.body, "document", rows_reader())
        wanted = read_bytes(png(page(*texts)), "document", rows_reader()).pages[0]
        assert (document.pages[0].width, document.pages[0].height) == (wanted.width, wanted.height)
        lines = tuple(replace(line, text=line.text.upper()) for line in wanted.lines)
        return to_json(replace(document, pages=(replace(document.pages[0], lines=lines),))).encode()

    return read


async def test_a_page_of_doubts_is_read_again_as_a_whole(desk: Desk) -> None:
    busy, nonsense = file_answer(b"", 503, Retry_After="0.01"), file_answer(b"{}")
    whole = file_answer(reads("hello", "world"))
    due, cloud = await whole_pages_of(
        desk, ALL, [page("hello", "world"), page("hello", "sun", "sea")], busy, nonsense, whole
    )
    first, second = due.document.pages
    assert [line.text for line in first.lines] == ["HELLO", "WORLD"]
    assert {line.route.reason for line in first.lines if line.route} == {WHOLE}
    assert [line.text for line in second.lines] == ["HELLO", "sun", "sea"], "line by line"
    assert cloud.lines == ["hello"]
    assert len({call.headers["Idempotency-Key"] for call in cloud.files}) == 1
    call = cloud.files[-1]
    assert call.headers["Content-Type"] == "image/webp" and int(call.headers["X-Deadline-Ms"]) > 0
    picture = cv2.imdecode(np.frombuffer(call.body, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None and picture.shape == page("hello", "world").shape


async def test_a_page_on_which_nothing_was_found_is_read_by_the_cloud(desk: Desk) -> None:
    blank = np.full_like(page("hello"), 255)
    due, cloud = await whole_pages_of(desk, ALL, [blank], file_answer(reads("hello")))
    (line,) = due.document.pages[0].lines
    assert (line.text, line.source, due.document.version) == ("HELLO", "cloud", 2)
    assert len(cloud.files) == 1 and not cloud.calls


async def test_a_page_that_the_cloud_refuses_stays_as_it_is(desk: Desk) -> None:
    problem = json.dumps({"code": "bad_image", "detail": "no"}).encode()
    refused = file_answer(problem, 422, Content_Type="application/problem+json")
    due, _ = await whole_pages_of(desk, ALL, [page("hello")], refused)
    assert [line.text for line in due.document.pages[0].lines] == ["hello"]
    assert [error.code for error in due.document.errors] == ["bad_image"]


async def test_a_page_that_is_too_much_goes_line_by_line(desk: Desk) -> None:
    narrow = replace(ALL, max_share=0.1, burst_lines=0, lines_per_page=1)
    due, cloud = await whole_pages_of(desk, narrow, [page("hello", "world")], file_answer(b""))
    assert not cloud.files and len(cloud.lines) == 1
    assert sum(line.source == "cloud" for line in due.document.pages[0].lines) == 1


@pytest.mark.parametrize("error", [TierocrError("internal", "it fell over"), TypeError("what")])
async def test_an_engine_that_fails_costs_nobody_a_page(desk: Desk, error: Exception) -> None:
    calls = iter([error])

    def fail_once() -> None:
        if (error := next(calls, None)) is not None:
            raise error

    tiered = reader(fail_once)
    intake, data = ReadingIntake(tiered, desk.box, clock=time.time), png(page("hello"))
    arrival = Arrival(source="inbox", name="a.png")
    refused = await intake.take(arrival, data, last=False)
    assert refused is not None and refused.failure.code == "internal" and not refused.hopeless
    assert await intake.take(arrival, data, last=False) is None
    tiered.close()


async def test_while_there_is_no_room_it_waits(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "state", max_documents=1, when_full="block")
    tiered = reader()
    intake = ReadingIntake(tiered, desk.box, clock=time.time)
    await desk.keep(b"1", ["hello"])
    arrival = Arrival(source="inbox", name="b.png")
    taking = asyncio.create_task(intake.take(arrival, png(page("b")), last=False))

    async def blocked() -> bool:
        return intake.blocked == "the outbox is full"

    await until(blocked)
    assert not taking.done()
    await desk.box.call(lambda box: box.refinements.give_up_all("internal: no"))
    due = await desk.due()
    await desk.box.call(lambda box: box.outgoing.delivered(due, 0.0))
    desk.box.tell()
    assert await asyncio.wait_for(taking, 30) is None and intake.blocked is None
    tiered.close()
    desk.box.close()


async def test_received_bytes_are_read_and_failures_told(desk: Desk) -> None:
    tiered = reader()
    intake = ReadingIntake(tiered, desk.box, clock=time.time)
    async with running(intake.read_received()):
        arrival = Arrival(source="stdin", name="stdin")
        good = (await intake.receive(arrival, png(page("hello")))).entry
        bad = (await intake.receive(arrival, b"no picture at all")).entry

        async def read() -> bool:
            return (await desk.state(good), await desk.state(bad)) == ("queued", "failed")

        await until(read)
    tiered.close()


async def test_received_bytes_that_the_engine_never_reads_are_told_of(desk: Desk) -> None:
    def fail() -> None:
        raise TierocrError("internal", "it fell over")

    tiered = reader(fail)
    intake = ReadingIntake(tiered, desk.box, clock=time.time)
    async with running(intake.read_received()):
        arrival = Arrival(source="stdin", name="stdin")
        entry = (await intake.receive(arrival, png(page("hello")))).entry

        async def told() -> bool:
            return await desk.state(entry) == "failed"

        await until(told)
    assert (await desk.due()).document.errors[0].code == "internal"
    tiered.close()


# -- budgets -----------------------------------------------------------------------------------


async def test_what_was_spent_outlives_the_process(tmp_path: Path) -> None:
    def opened() -> tuple[Desk, Meter]:
        desk = Desk(tmp_path / "state")
        return desk, Meter(desk.box, Budget(calls_per_hour=2), clock=lambda: 1e9)

    desk, meter = opened()
    entries = [await desk.keep(bytes([n])) for n in range(4)]
    with fake_cloud(right) as cloud:
        address = CloudAddress(url=cloud.url, deadline=5)
        breaker = Breaker()
        async with Refiner(address, breaker=breaker, book=meter.book) as refiner:
            sender = Sender(
                desk.box, refiner, breaker, retries=FAST, clock=time.time, may_send=meter.wait
            )
            async with running(sender.run()):

                async def two() -> bool:
                    return [await desk.state(e) for e in entries].count("refined") == 2

                await until(two)
                await asyncio.sleep(0.1)
                assert await two() and len(cloud.calls) == 2
        assert meter.bytes == sum(len(call.body) for call in cloud.calls)
    desk.box.close()
    desk, meter = opened()
    assert await meter.wait() > 0
    desk.box.close()
