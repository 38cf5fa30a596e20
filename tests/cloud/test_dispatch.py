"""The dispatcher: every caller gets exactly one answer, whatever the device does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import numpy as np
import pytest

from tierocr.cloud.batching import BatchLimits, DeadlineBatcher
from tierocr.cloud.device import Device
from tierocr.cloud.dispatch import CropReader, Dispatcher
from tierocr.cloud.metrics import Metrics
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.recognition import Glyph, Reading

Start = Callable[..., Dispatcher]


class Numbers:
    """Reads a crop's first pixel as its text; 13 breaks the whole batch."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def read(self, crops: Sequence[Pixels]) -> list[Reading]:
        numbers = [int(crop.flat[0]) for crop in crops]
        self.calls.append(numbers)
        self.gate.wait(10)
        if 13 in numbers:
            raise RuntimeError("bad luck")
        return [Reading(glyphs=(glyph(str(n)),)) for n in numbers]


def glyph(text: str) -> Glyph:
    return Glyph(text=text, start=0, end=1, probability=1, margin=1, entropy=0)


def crop(number: int) -> Pixels:
    return np.full((1, 1, 3), number, dtype=np.uint8)


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    stops: list[Callable[[], Awaitable[None]]] = []
    devices: list[Device] = []

    def build(reader: CropReader, **limits: float) -> Dispatcher:
        values = {"max_entries": 100, "max_batch": 8, "max_wait": 0.02, **limits}
        device = Device()
        dispatcher = Dispatcher(
            [reader],
            DeadlineBatcher(BatchLimits(**values)),  # type: ignore[arg-type]
            device,
            Metrics(),
            max_batch=8,
        )
        dispatcher.start()
        stops.append(dispatcher.stop)
        devices.append(device)
        return dispatcher

    yield build
    for stop in stops:
        await stop()
    for device in devices:
        device.close()


async def read(
    dispatcher: Dispatcher, number: int, *, bucket: int = 64, seconds: float = 10
) -> str:
    answer = await dispatcher.read(
        crop(number), bucket=bucket, content=bucket, deadline=time.monotonic() + seconds
    )
    assert answer.waited >= 0 and answer.ran >= 0
    return answer.reading.text


async def test_answers_reach_those_who_asked(start: Start) -> None:
    reader = Numbers()
    dispatcher = start(reader)
    texts = await asyncio.gather(*(read(dispatcher, n, bucket=64 + n % 3) for n in range(100, 180)))
    assert texts == [str(n) for n in range(100, 180)]
    assert sorted(n for call in reader.calls for n in call) == list(range(100, 180))
    assert all(len({n % 3 for n in call}) == 1 for call in reader.calls)
    assert max(len(call) for call in reader.calls) == 8


async def test_one_failing_crop_fails_alone(start: Start) -> None:
    reader = Numbers()
    reader.gate.clear()
    dispatcher = start(reader)
    tasks = [asyncio.create_task(read(dispatcher, n)) for n in (1, 2, 13, 4)]
    await asyncio.sleep(0.05)
    reader.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(r) for r in results[:2]] == ["1", "2"] and str(results[3]) == "4"
    assert isinstance(results[2], TierocrError) and results[2].code == "internal"
    assert "bad luck" not in results[2].message
    assert sum(call == [13] for call in reader.calls) == 1  # tried once more, not for ever


async def test_a_reader_that_forgets_a_crop_is_not_believed(start: Start) -> None:
    class Forgetful:
        def read(self, crops: Sequence[Pixels]) -> list[Reading]:
            return [Reading(glyphs=(glyph("x"),))] if len(crops) == 1 else []

    dispatcher = start(Forgetful())
    assert await asyncio.gather(*(read(dispatcher, n) for n in range(5))) == ["x"] * 5


async def test_an_error_of_the_table_keeps_its_code(start: Start) -> None:
    class Broken:
        def read(self, crops: Sequence[Pixels]) -> list[Reading]:
            raise TierocrError("device_unavailable", "unplugged")

    with pytest.raises(TierocrError) as caught:
        await read(start(Broken()), 1)
    assert caught.value.code == "device_unavailable"


async def test_a_crash_of_the_device_answers_everyone(start: Start) -> None:
    class Crash(BaseException):
        pass

    class Crashing:
        def read(self, crops: Sequence[Pixels]) -> list[Reading]:
            raise Crash

    dispatcher = start(Crashing())
    results = await asyncio.gather(
        *(read(dispatcher, n) for n in range(20)), return_exceptions=True
    )
    assert {r.code for r in results if isinstance(r, TierocrError)} == {"internal"}
    assert len(results) == 20 and dispatcher.running


async def test_a_device_that_takes_no_work_leaves_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(Device):
        def submit(self, work: object) -> object:  # type: ignore[override]
            raise RuntimeError("can't start new thread")

    batcher = DeadlineBatcher(BatchLimits(max_entries=100))
    dispatcher = Dispatcher([Numbers()], batcher, Full(), Metrics(), max_batch=8)
    dispatcher.start()
    results = await asyncio.wait_for(
        asyncio.gather(*(read(dispatcher, n) for n in range(20)), return_exceptions=True), 5
    )
    assert {getattr(result, "code", result) for result in results} == {"unavailable"}
    assert not dispatcher.running, "readiness goes"
    assert "no batch is launched" in caplog.text


async def test_cancelled_and_expired_crops_are_not_read(start: Start) -> None:
    reader = Numbers()
    dispatcher = start(reader)
    reader.gate.clear()
    first = asyncio.create_task(read(dispatcher, 1))
    await asyncio.sleep(0.05)
    staged = asyncio.create_task(read(dispatcher, 2))
    expiring = asyncio.create_task(read(dispatcher, 3, seconds=0.15))
    await asyncio.sleep(0.05)  # both are at the device now, behind the first
    queued = asyncio.create_task(read(dispatcher, 4))
    late = asyncio.create_task(read(dispatcher, 5, seconds=0.1))
    await asyncio.sleep(0.01)
    staged.cancel()
    queued.cancel()
    await asyncio.sleep(0.15)
    reader.gate.set()
    assert await first == "1"
    for task in (expiring, late):
        with pytest.raises(TierocrError) as caught:
            await task
        assert caught.value.code == "deadline_exceeded"
    assert await asyncio.gather(staged, queued, return_exceptions=True)
    assert await read(dispatcher, 6) == "6"
    assert reader.calls == [[1], [6]]
    assert dispatcher.depths() == {}


async def test_the_queue_is_bounded(start: Start) -> None:
    reader = Numbers()
    dispatcher = start(reader, max_entries=3, max_batch=1)
    reader.gate.clear()
    tasks = []
    for number in range(5):
        tasks.append(asyncio.create_task(read(dispatcher, number)))
        await asyncio.sleep(0.03)
    with pytest.raises(TierocrError) as caught:  # one runs, one is staged, three wait
        await read(dispatcher, 9)
    assert caught.value.code == "over_capacity"
    assert dispatcher.depths() == {64: 3}
    reader.gate.set()
    assert await asyncio.gather(*tasks) == ["0", "1", "2", "3", "4"]


async def test_the_expected_wait_follows_the_pace(start: Start) -> None:
    reader = Numbers()
    dispatcher = start(reader)
    assert dispatcher.expected_wait() == 0
    reader.gate.clear()
    task = asyncio.create_task(read(dispatcher, 1))
    await asyncio.sleep(0.1)
    reader.gate.set()
    await task
    assert dispatcher.expected_wait() == 0
    reader.gate.clear()
    task = asyncio.create_task(read(dispatcher, 2))
    await asyncio.sleep(0.02)
    assert 0.05 < dispatcher.expected_wait() < 5
    reader.gate.set()
    await task


async def test_stopping_leaves_nobody_waiting(start: Start) -> None:
    reader = Numbers()
    dispatcher = start(reader, max_batch=1)
    reader.gate.clear()
    tasks = [asyncio.create_task(read(dispatcher, n)) for n in range(4)]
    await asyncio.sleep(0.1)
    await dispatcher.stop()
    reader.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[:2] == ["0", "1"]  # these were at the device already
    assert {r.code for r in results[2:] if isinstance(r, TierocrError)} == {"unavailable"}
    with pytest.raises(TierocrError) as caught:
        await read(dispatcher, 5)
    assert caught.value.code == "unavailable"
