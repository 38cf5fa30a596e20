from __future__ import annotations

import asyncio

import pytest

from tests.cloud.conftest import Serve, body_of, post, region, reply_of
from tests.fakes.engines import painted_reader, slow
from tests.fakes.painted import paint
from tierocr.cloud.sharing import Sharing
from tierocr.shared.errors import TierocrError


class Work:
    """Counts how often it is begun and given up."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = self.given_up = 0
        self.gate, self.error = asyncio.Event(), error

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        if self.error is not None:
            raise self.error
        return "done"


async def begin(sharing: Sharing[str], work: Work, deadline: float = 10) -> asyncio.Task[str]:
    task = asyncio.create_task(sharing.do("key", deadline, work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_equal_work_is_done_once() -> None:
    sharing, work = Sharing[str](), Work()
    tasks = [await begin(sharing, work) for _ in range(5)]
    work.gate.set()
    assert await asyncio.gather(*tasks) == ["done"] * 5
    assert work.begun == 1 and sharing.shared == 4 and len(sharing) == 0


async def test_what_is_done_is_not_kept() -> None:
    sharing, work = Sharing[str](), Work()
    work.gate.set()
    await sharing.do("key", 10, work)
    await sharing.do("key", 10, work)
    assert work.begun == 2


async def test_who_leaves_takes_nobody_with_it() -> None:
    sharing, work = Sharing[str](), Work()
    first, second = await begin(sharing, work), await begin(sharing, work)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    work.gate.set()
    assert await second == "done"
    assert work.begun == 1 and work.given_up == 0


async def test_work_that_nobody_waits_for_is_given_up() -> None:
    sharing, work = Sharing[str](), Work()
    tasks = [await begin(sharing, work) for _ in range(2)]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert work.given_up == 1 and len(sharing) == 0


async def test_who_has_more_time_does_not_depend_on_who_has_less() -> None:
    sharing, work = Sharing[str](), Work()
    tasks = [await begin(sharing, work, 5), await begin(sharing, work, 9)]
    tasks.append(await begin(sharing, work, 7))
    work.gate.set()
    assert await asyncio.gather(*tasks) == ["done"] * 3
    assert work.begun == 2


async def test_everyone_is_told_what_went_wrong() -> None:
    sharing, work = Sharing[str](), Work(TierocrError("bad_image", "no picture"))
    tasks = [await begin(sharing, work) for _ in range(3)]
    work.gate.set()
    for task in tasks:
        with pytest.raises(TierocrError, match="no picture"):
            await task


async def test_equal_crops_are_read_once_and_answered_under_their_own_ids(serve: Serve) -> None:
    reader, network = painted_reader(slow(0.1))
    client = await serve(lambda: reader)
    before = sum(count for count, _ in network.batches)
    crops = [region(str(k), paint("same")) for k in range(6)]
    _, results = await reply_of(await post(client, body_of(*crops, region("x", paint("other")))))
    assert {name: r.text for name, r in results.items()} == {
        **{str(k): "same" for k in range(6)},
        "x": "other",
    }
    # two different crops, each at most once more without its margin
    assert sum(count for count, _ in network.batches) - before <= 4
