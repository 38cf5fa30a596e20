"""A watched folder: the loop that looks, decides and has files read.

Joins what `watching` decides with what `listing` and `moving` do. Must not know how a file is read
or where its text goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from tierocr.edge.outbox.seen import Seen
from tierocr.edge.outbox.values import Arrival
from tierocr.edge.sources.judging import Objection
from tierocr.edge.sources.listing import list_files, read_file, unreadable
from tierocr.edge.sources.moving import delete, move_away, restore
from tierocr.edge.sources.waking import Waker, Watch, needs_polling
from tierocr.edge.sources.watching import (
    Plan,
    Quarantine,
    Signature,
    Take,
    Watched,
    WatchRules,
    decide,
    not_taken,
    stuck,
)
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits

_log = logging.getLogger(__name__)
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
_AT_ONCE = 32
"""Files begun before the folder is looked at again."""

T = TypeVar("T")


class Intake(Protocol):
    """Who reads files and keeps what was read."""

    async def take(self, arrival: Arrival, data: bytes, *, last: bool) -> Objection | None:
        """Read a file and keep its text; None once that is safe. Waits while there is no room."""

    async def seen(self, source: str) -> dict[str, tuple[int, int]]:
        """Files that were taken: size and time of change then."""

    async def see(self, arrival: Arrival) -> None:
        """A file is done with, although nothing came of it."""

    async def unsee(self, source: str, paths: Iterable[str]) -> None:
        """These are no longer there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings:
    """What is watched, and where files go. `moved`: where processed files go if they are moved;
    `readers`: files being read at once.
    """

    name: str
    folder: Path
    quarantine: Path
    moved: Path | None = None
    recursive: bool = False
    watch: Watch = "auto"
    poll_seconds: float = 2.0
    rules: WatchRules = WatchRules()
    limits: Limits = Limits()
    readers: int = 2


class FolderSource:
    """One watched folder. `run` never returns; cancelling it loses nothing."""

    def __init__(
        self,
        settings: FolderSettings,
        intake: Intake,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """See `FolderSettings`."""
        self._settings, self._intake, self._clock = settings, intake, clock
        self._watched: Mapping[str, Watched] = {}
        self._seen: dict[str, Signature] = {}
        self._stays: dict[str, float] = {}  # taken, and cannot be put away before then
        self._complained = False

    async def run(self) -> None:
        """Look, decide, act, wait; for ever."""
        s = self._settings
        polling = await asyncio.to_thread(needs_polling, s.folder, s.watch)
        with contextlib.suppress(OSError):  # a folder that is away has nothing to give back
            await asyncio.to_thread(restore, s.folder, recursive=s.recursive)
        stored = await self._intake.seen(s.name)
        self._seen = {path: Signature(size=a, mtime=b) for path, (a, b) in stored.items()}
        self._say("watching", folder=str(s.folder), polling=polling)
        async with Waker(
            s.folder, polling=polling, every=s.poll_seconds, recursive=s.recursive
        ) as waker:
            while True:
                await waker.wait(await self.look())

    async def look(self) -> float | None:
        """Look once and do what is due; returns in how many seconds more may be, None for "when
        something changes".
        """
        s = self._settings
        try:
            listing = await asyncio.to_thread(list_files, s.folder, recursive=s.recursive)
        except OSError as error:
            if not self._complained:
                self._say("the folder cannot be listed", level=logging.WARNING, error=str(error))
            self._complained = True
            return s.poll_seconds
        self._complained = False
        plan = decide(self._watched, listing, self._seen, self._clock(), s.rules)
        self._watched = plan.watched
        await self._forget(plan)
        for path in plan.put_away:
            await self._put_away(path)
        for aside in plan.quarantine:
            await self._quarantine(aside)
        await self._take_all(plan.take[:_AT_ONCE])
        if plan.take or plan.quarantine:
            return 0.0
        return None if plan.wake_at is None else plan.wake_at - self._clock()

    async def _forget(self, plan: Plan) -> None:
        if plan.gone:
            await self._intake.unsee(self._settings.name, plan.gone)
            for path in plan.gone:
                self._seen.pop(path, None)
                self._stays.pop(path, None)

    async def _take_all(self, files: Iterable[Take]) -> None:
        """Read these, a few at once, in their order."""
        waiting = iter(files)

        async def reader() -> None:
            for take in waiting:
                await self._take(take)

        tasks = [asyncio.create_task(reader()) for _ in range(self._settings.readers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, take: Take) -> None:
        s = self._settings
        try:
            data = await asyncio.to_thread(
                read_file, s.folder / take.path, take.signature, s.limits
            )
        except FileNotFoundError:
            return
        except OSError as error:
            failure = unreadable(error)
            self._objected(take, _failure(failure), hopeless=take.last)
            return
        except TierocrError as error:
            self._objected(take, _failure(error), hopeless=True)
            return
        if data is None:  # it has changed: the next look begins anew
            return
        refused = await self._intake.take(self._arrival(take), data, last=take.last)
        if refused is not None:
            self._objected(take, refused.failure, hopeless=refused.hopeless)
            return
        self._seen[take.path] = take.signature
        self._watched = {p: w for p, w in self._watched.items() if p != take.path}
        if s.rules.processed != "keep":
            await self._put_away(take.path)

    def _objected(self, take: Take, failure: Failure, *, hopeless: bool) -> None:
        file = self._watched.get(take.path)
        if file is None or file.signature != take.signature:
            return
        changed = not_taken(file, failure, self._clock(), self._settings.rules, hopeless=hopeless)
        self._watched = {**self._watched, take.path: changed}
        if not hopeless:
            self._say(
                "the file may not be complete, it is tried again",
                file=take.path,
                code=failure.code,
                error=failure.message,
                attempts=changed.attempts,
            )

    async def _put_away(self, path: str) -> None:
        """Move or delete a file that was taken; one that cannot be stays, and is not read again."""
        s, signature = self._settings, self._seen[path]
        if self._clock() < self._stays.get(path, 0.0):
            return
        try:
            if s.rules.processed == "move" and s.moved is not None:
                await asyncio.to_thread(move_away, s.folder / path, signature, s.moved, path)
            else:
                await asyncio.to_thread(delete, s.folder / path, signature)
        except FileNotFoundError:
            pass
        except OSError as error:
            again = path in self._stays
            self._stays[path] = self._clock() + s.rules.longest_wait
            if not again:
                self._say(
                    "a processed file cannot be put away, it stays",
                    level=logging.WARNING,
                    file=path,
                    error=str(error),
                )
            return
        self._stays.pop(path, None)

    async def _quarantine(self, aside: Quarantine) -> None:
        s = self._settings
        path = s.folder / aside.path
        reason = f"{aside.failure.code}: {aside.failure.message}\n"
        try:
            moved = await asyncio.to_thread(
                _move_with_reason, path, aside.signature, s.quarantine, aside.path, reason
            )
        except FileNotFoundError:
            return
        except OSError as error:
            await self._cannot_quarantine(aside, error)
            return
        if moved is not None:
            self._say(
                "a file was put aside",
                level=logging.WARNING,
                file=aside.path,
                code=aside.failure.code,
                error=aside.failure.message,
                quarantine=str(moved),
            )

    async def _cannot_quarantine(self, aside: Quarantine, error: OSError) -> None:
        """Where files may not be moved, this one is done with as it is; else it is tried again."""
        self._say(
            "a file cannot be put aside, it stays",
            level=logging.WARNING,
            file=aside.path,
            error=str(error),
            code=aside.failure.code,
            reason=aside.failure.message,
        )
        if error.errno in _NOT_ALLOWED:
            await self._intake.see(self._arrival(aside))
            self._seen[aside.path] = aside.signature
            self._stays[aside.path] = math.inf
        else:
            file = stuck(self._watched[aside.path], self._clock(), self._settings.rules)
            self._watched = {**self._watched, aside.path: file}

    def _arrival(self, file: Take | Quarantine) -> Arrival:
        seen = Seen(
            source=self._settings.name,
            path=file.path,
            size=file.signature.size,
            mtime=file.signature.mtime,
        )
        return Arrival(source=self._settings.name, name=file.path, seen=seen)

    def _say(self, message: str, *, level: int = logging.INFO, **fields: object) -> None:
        _log.log(level, message, extra={"fields": {"source": self._settings.name, **fields}})


def _move_with_reason(
    path: Path, signature: Signature, folder: Path, name: str, reason: str
) -> Path | None:
    moved = move_away(path, signature, folder, name)
    if moved is not None:
        moved.with_name(f"{moved.name}.reason.txt").write_bytes(reason.encode(errors="replace"))
    return moved


def _failure(error: TierocrError) -> Failure:
    return Failure(code=error.code, message=error.message)
