"""The crops of whole pages on their way through the dispatcher: from threads to the loop and back.

A page is read in a thread, its lines together with those of other pages and of refinements. So
many lines of a page are in the queue at once as keep the device busy, however many it has. Must not
know about HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import wait
from typing import Any

from tierocr.cloud.dispatch import Dispatcher
from tierocr.cloud.ways import Way, plain_way, too_long
from tierocr.shared.document import Pixels
from tierocr.shared.recognition import EMPTY, Reading, RecogniserFacts

WINDOW = 64
"""Lines of one page that may be in the queue at once."""

_LOOK_ROUND = 0.25
Check = Callable[[], None]


class PageCrops:
    """Reads the crops of pages through a dispatcher, from any thread but the loop's."""

    def __init__(
        self, dispatcher: Dispatcher, loop: asyncio.AbstractEventLoop, facts: RecogniserFacts
    ) -> None:
        """`loop`: the dispatcher's."""
        self._dispatcher, self._loop, self._facts = dispatcher, loop, facts

    def read(
        self, crops: Sequence[Pixels], *, deadline: float, owner: str, check: Check
    ) -> list[Reading]:
        """One reading for each crop, in the same order, none for what is no line; blocks.

        `deadline`: in seconds of the dispatcher's clock. `check` is called now and then and raises
        when the page is no longer wanted. Raises TierocrError like `Dispatcher.read`.
        """
        ways = {
            i: plain_way(crop, self._facts)
            for i, crop in enumerate(crops)
            if not too_long(crop, self._facts)
        }
        found = dict(
            zip(ways, self._wait(list(ways.values()), deadline, owner, check), strict=True)
        )
        return [found.get(i, EMPTY) for i in range(len(crops))]

    def _wait(
        self, ways: Sequence[Way], deadline: float, owner: str, check: Check
    ) -> list[Reading]:
        reading = asyncio.run_coroutine_threadsafe(self._read(ways, deadline, owner), self._loop)
        try:
            while not reading.done():
                check()
                wait((reading,), timeout=_LOOK_ROUND)
            return reading.result()
        finally:
            reading.cancel()  # does nothing to what is done

    async def _read(self, ways: Sequence[Way], deadline: float, owner: str) -> list[Reading]:
        places = asyncio.Semaphore(WINDOW)

        async def one(way: Way) -> Reading:
            async with places:
                answer = await self._dispatcher.read(
                    way.pixels,
                    bucket=way.bucket,
                    content=way.content,
                    deadline=deadline,
                    owner=owner,
                    patient=True,
                )
            return answer.reading

        return await _all_or_none([one(way) for way in ways])


async def _all_or_none(works: Sequence[Coroutine[Any, Any, Reading]]) -> list[Reading]:
    """The results of all; with the first that fails, the others are given up."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
