"""Readings that did not end, over starts of the process; who is read alone."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from tierocr.edge.disk import Disk
from tierocr.edge.outbox.attempts import Attempts
from tierocr.edge.turns import Turns
from tierocr.shared.errors import TierocrError


class FullDisk(Disk):
    def put(self, handle: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_did_not_end_is_counted_until_it_ends(tmp_path: Path) -> None:
    for starts in range(3):
        attempts = Attempts(tmp_path, Disk())
        assert attempts.of("a") == starts
        attempts.begin("a")
        attempts.begin("b")
        attempts.end("b")
        assert (attempts.of("a"), attempts.of("b")) == (starts + 1, 0)
    attempts.end("a")
    attempts.end("a")
    assert Attempts(tmp_path, Disk()).of("a") == 0


def test_at_a_start_what_was_read_and_what_is_too_much_is_forgotten(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, Disk())
    attempts.sweep(lambda name: True)
    for name, begun in (("read", 2), ("once", 1), ("twice", 2), ("thrice", 3)):
        for _ in range(begun):
            attempts.begin(name)
    attempts.sweep(lambda name: name == "read", most=2)
    left = {name: attempts.of(name) for name in ("read", "once", "twice", "thrice")}
    assert left == {"read": 0, "once": 0, "twice": 2, "thrice": 3}


def test_on_a_full_disk_nothing_begins(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, FullDisk())
    with pytest.raises(TierocrError) as caught:
        attempts.begin("a")
    assert caught.value.code == "over_capacity"
    assert attempts.of("a") == 0


async def test_alone_is_alone_and_the_others_are_together() -> None:
    turns, inside, most = Turns(), set[str](), dict[str, int]()

    async def work(name: str) -> None:
        async with turns.alone() if name == "x" else turns.together():
            inside.add(name)
            await asyncio.sleep(0.01)
            most[name] = len(inside)
            inside.remove(name)

    await asyncio.gather(*(work(name) for name in "abxcd"))
    assert most["x"] == 1 and most["a"] == most["c"] == 2
    task = asyncio.create_task(work("x"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await work("a")
