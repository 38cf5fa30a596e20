"""A real folder, a clock that is moved by hand and an intake that remembers."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tierocr.edge.outbox.values import Arrival
from tierocr.edge.sources.folder import FolderSettings, FolderSource
from tierocr.edge.sources.judging import Objection
from tierocr.edge.sources.waking import Waker, needs_polling
from tierocr.edge.sources.watching import WatchRules
from tierocr.shared.document import Failure
from tierocr.shared.images import Limits

RULES = WatchRules(stable_seconds=2.0)


@dataclass
class FakeIntake:
    """Takes what does not begin with `bad` or `no`."""

    names: list[str] = field(default_factory=list)
    stored: dict[str, tuple[int, int]] = field(default_factory=dict)
    under_way: int = 0
    most: int = 0

    async def take(self, arrival: Arrival, data: bytes, *, last: bool) -> Objection | None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if data.startswith((b"bad", b"no")):
            code = "bad_image" if data.startswith(b"bad") else "encrypted"
            failure = Failure(code=code, message="it cannot be read")
            return Objection(failure=failure, hopeless=last or code == "encrypted")
        self.names.append(arrival.name)
        await self.see(arrival)
        return None

    async def seen(self, source: str) -> dict[str, tuple[int, int]]:
        return dict(self.stored)

    async def see(self, arrival: Arrival) -> None:
        assert arrival.seen is not None
        self.stored[arrival.seen.path] = (arrival.seen.size, arrival.seen.mtime)

    async def unsee(self, source: str, paths: Iterable[str]) -> None:
        for path in paths:
            del self.stored[path]


class Desk:
    """A source with its folder; `look` at a given time."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.folder, self.root, self.now = root / "in", root, 0.0
        self.folder.mkdir(exist_ok=True)
        values = {
            "name": "inbox",
            "folder": self.folder,
            "quarantine": root / "quarantine",
            "rules": RULES,
            **settings,
        }
        self.intake = FakeIntake()
        self.source = FolderSource(FolderSettings(**values), self.intake, clock=lambda: self.now)

    def put(self, name: str, data: bytes = b"page") -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    async def look(self, now: float) -> float | None:
        self.now = now
        return await self.source.look()


async def test_a_file_is_read_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.jpg")
    assert await desk.look(0.0) == 2.0
    assert desk.intake.names == []
    assert await desk.look(2.0) == 0.0
    assert desk.intake.names == ["a.jpg"]
    assert await desk.look(99.0) is None
    assert desk.intake.names == ["a.jpg"] and (desk.folder / "a.jpg").exists()


async def test_a_file_that_is_written_slowly_is_waited_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for second in range(5):
        desk.put("a.jpg", b"x" * (second + 1))
        await desk.look(second)
    assert desk.intake.names == []
    await desk.look(6.0)
    assert desk.intake.names == ["a.jpg"]


async def test_after_a_restart_nothing_is_read_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.jpg")
    await desk.look(0.0)
    await desk.look(2.0)
    again = Desk(tmp_path)
    again.intake.stored = desk.intake.stored
    task = asyncio.create_task(again.source.run())
    await asyncio.sleep(0.05)
    again.now = 50.0
    await again.source.look()
    assert again.intake.names == []
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("processed", ["move", "delete"])
async def test_processed_files_are_put_away(tmp_path: Path, processed: Any) -> None:
    moved = tmp_path / "done"
    desk = Desk(tmp_path, rules=replace(RULES, processed=processed), moved=moved)
    desk.put("a.jpg")
    await desk.look(0.0)
    await desk.look(2.0)
    assert list(desk.folder.iterdir()) == []
    assert moved.exists() == (processed == "move")
    await desk.look(3.0)
    assert desk.intake.stored == {}, "the name may come again"
    desk.put("a.jpg", b"other")
    await desk.look(4.0)
    await desk.look(6.0)
    assert desk.intake.names == ["a.jpg", "a.jpg"]


async def test_what_cannot_be_read_is_put_aside_with_the_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.pdf", b"no")
    desk.put("b.jpg")
    await desk.look(0.0)
    await desk.look(2.0)
    await desk.look(2.0)
    assert desk.intake.names == ["b.jpg"]
    assert sorted(p.name for p in desk.folder.iterdir()) == ["b.jpg"]
    reason = (tmp_path / "quarantine" / "a.pdf.reason.txt").read_text()
    assert reason == "encrypted: it cannot be read\n"
    assert (tmp_path / "quarantine" / "a.pdf").read_bytes() == b"no"


async def test_what_may_be_partial_is_tried_again_and_completed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.jpg", b"bad")
    await desk.look(0.0)
    await desk.look(2.0)
    assert await desk.look(2.0) == 2.0
    desk.put("a.jpg", b"good now")
    await desk.look(100.0)
    await desk.look(102.0)
    assert desk.intake.names == ["a.jpg"]


async def test_patience_ends(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.jpg", b"bad")
    wait: float | None = 0.0
    while wait is not None and desk.now < 2000:
        wait = await desk.look(desk.now + wait)
    assert 600 <= desk.now <= 700
    assert (tmp_path / "quarantine" / "a.jpg").exists()


async def test_a_huge_file_is_put_aside_unread(tmp_path: Path) -> None:
    desk = Desk(tmp_path, limits=Limits(max_bytes=100))
    with desk.put("a.jpg").open("r+b") as file:
        file.truncate(1 << 40)
    await desk.look(0.0)
    await desk.look(2.0)
    await desk.look(2.0)
    assert "too_large" in (tmp_path / "quarantine" / "a.jpg.reason.txt").read_text()


async def test_where_nothing_may_be_moved_files_stay_and_are_done_with(tmp_path: Path) -> None:
    desk = Desk(tmp_path, quarantine=Path("/proc/nowhere"))
    desk.put("a.jpg", b"no")
    for now in (0.0, 2.0, 2.0, 200.0, 400.0):
        await desk.look(now)
    assert (desk.folder / "a.jpg").exists() and desk.intake.names == []


async def test_processed_files_that_cannot_be_put_away_are_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "done").write_bytes(b"in the way")
    desk = Desk(tmp_path, rules=replace(RULES, processed="move"), moved=tmp_path / "done")
    desk.put("a.jpg")
    for now in (0.0, 2.0, 3.0, 50.0):
        await desk.look(now)
    assert desk.intake.names == ["a.jpg"]
    (tmp_path / "done").unlink()
    await desk.look(200.0)
    assert (tmp_path / "done" / "a.jpg").exists()


async def test_a_folder_that_is_away_for_a_while_forgets_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.jpg")
    await desk.look(0.0)
    await desk.look(2.0)
    desk.folder.rename(tmp_path / "away")
    assert await desk.look(3.0) == 2.0
    assert await desk.look(4.0) == 2.0
    (tmp_path / "away").rename(desk.folder)
    await desk.look(5.0)
    await desk.look(9.0)
    assert desk.intake.names == ["a.jpg"]


async def test_many_files_are_read_a_few_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for n in range(100):
        path = desk.put(f"{n:03}.jpg")
        os.utime(path, ns=(n, n))
    await desk.look(0.0)
    while await desk.look(2.0) == 0.0:
        pass
    assert sorted(desk.intake.names) == [f"{n:03}.jpg" for n in range(100)]
    assert desk.intake.names[0] < "002" and desk.intake.names[-1] > "097"
    assert desk.intake.most == 2


# -- waking up ---------------------------------------------------------------------------------


async def test_a_change_is_told_where_the_system_tells(tmp_path: Path) -> None:
    async with Waker(tmp_path, polling=False, every=60, recursive=False) as waker:
        waiting = asyncio.create_task(waker.wait(None))
        for n in range(200):
            (tmp_path / f"{n}.jpg").write_bytes(b"x")
            done, _ = await asyncio.wait([waiting], timeout=0.05)
            if done:
                return
        waiting.cancel()
        raise AssertionError("nothing was told")


async def test_polling_looks_again_by_itself(tmp_path: Path) -> None:
    async with Waker(tmp_path, polling=True, every=0.01, recursive=False) as waker:
        await asyncio.wait_for(waker.wait(None), 10)


async def test_a_folder_that_cannot_be_listened_to_is_looked_at(tmp_path: Path) -> None:
    async with Waker(tmp_path / "no", polling=False, every=0.01, recursive=False) as waker:
        await asyncio.wait_for(waker.wait(None), 10)
        await asyncio.wait_for(waker.wait(None), 10)


def test_who_says_so_gets_polling(tmp_path: Path) -> None:
    assert needs_polling(tmp_path, "poll")
    assert not needs_polling(tmp_path, "notify")
    assert not needs_polling(Path("/proc"), "auto")
