"""The agent: sources, reader, outbox, cloud and sinks, each in its loop, until told to stop.

Wiring only. Stopping loses nothing: what is not finished goes on at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from tierocr.edge import tally
from tierocr.edge.api.exposition import Metrics
from tierocr.edge.api.handlers import Parts
from tierocr.edge.api.health import Condition, Device, memory, temperatures
from tierocr.edge.api.recent import Recent
from tierocr.edge.api.server import serving
from tierocr.edge.breaker import Breaker
from tierocr.edge.courier import Courier
from tierocr.edge.disk import Disk
from tierocr.edge.intake import ReadingIntake
from tierocr.edge.logs import event
from tierocr.edge.looping import Loops, first, in_daemon_thread
from tierocr.edge.metering import Meter
from tierocr.edge.notify import READY, STOPPING, WATCHDOG, Notifier
from tierocr.edge.outbox.clock import OutboxClock
from tierocr.edge.outbox.incoming import TALLY
from tierocr.edge.outbox.outbox import Outbox
from tierocr.edge.outbox.states import NOT_SENT, Entry
from tierocr.edge.outbox.threaded import ThreadedOutbox
from tierocr.edge.outbox.values import Status
from tierocr.edge.planning import Planner
from tierocr.edge.privacy.painting import guarded_lines, guarded_pages
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.edge.refining import Refiner
from tierocr.edge.sender import Retries, Sender
from tierocr.edge.settings import EdgeSettings
from tierocr.edge.sources.camera import CameraSource
from tierocr.edge.sources.folder import FolderSource
from tierocr.edge.sources.stdin import STDIN, read_all
from tierocr.edge.tiering import ReadOptions, TieredReader
from tierocr.edge.wiring import (
    check,
    cloud_address,
    folder_settings,
    make_sinks,
    needs_originals,
)
from tierocr.shared.errors import TierocrError
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.tune import open_tuned
from tierocr.shared.switching import hand_over_soon

_log = logging.getLogger(__name__)
KEEP_HOUSE = 5.0
"""Seconds between two looks at what has expired."""

PREPARED = "privacy"
"""The note that says under which rules the crops in the outbox were cut."""

RULES_CHANGED = "what may leave has changed since it was read"
_FORGET_EVERY = 3600.0
_NOTE_EVERY = 600.0
_IDLE_LOOK = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What the agent takes from the process that it runs in; tests hand in their own."""

    stdin: BinaryIO
    stdout: BinaryIO
    environ: Mapping[str, str]
    disk: Disk


def process_doors() -> Doors:
    """Those of this process."""
    return Doors(stdin=sys.stdin.buffer, stdout=sys.stdout.buffer, environ=os.environ, disk=Disk())


class Agent:
    """Made by `make_agent`. `run` once."""

    def __init__(self, settings: EdgeSettings, reader: Reader, doors: Doors) -> None:
        """Open what is on the disk. Raises TierocrError `config_invalid`."""
        self._settings, self._doors = settings, doors
        self._retries = Retries(
            first=settings.outbox.retry_seconds, longest=settings.outbox.retry_max_seconds
        )
        sinks = make_sinks(settings, doors.stdout, doors.disk)
        self._metrics = Metrics(reader.info)
        self._recent = Recent(
            settings.api.results_bytes,
            rules=settings.reading.rules,
            on_version=self._metrics.version,
        )
        if settings.api.port is not None:
            sinks.append(self._recent)
        self._engine = reader.info
        self._sender: Sender | None = None
        self._meter: Meter | None = None
        self._address = cloud_address(settings)
        outbox = Outbox(
            settings.state.folder,
            settings.outbox.rules(keep_originals=needs_originals(settings)),
            [sink.name for sink in sinks],
            occupied=lambda name: any(sink.occupied(name) for sink in sinks),
            disk=doors.disk,
            wall=time.time(),
        )
        self._now = OutboxClock(outbox.started).now
        self._outbox = ThreadedOutbox(outbox)
        rules_of = settings.privacy.rules_of
        planner = None
        if self._address is not None:
            policy = settings.cloud.policy
            planner = Planner(
                policy,
                guarded_lines(rules_of),
                guarded_pages(rules_of),
                tally.load(outbox.note(TALLY), policy),
            )
        self._reader = TieredReader(
            reader,
            options=ReadOptions(
                limits=settings.reading.limits, text_layer=settings.reading.text_layer
            ),
            planner=planner,
        )
        self._intake = ReadingIntake(self._reader, self._outbox, clock=self._now)
        self._couriers = [
            Courier(self._outbox, s, retries=self._retries, clock=self._now) for s in sinks
        ]
        self._notifier = Notifier(doors.environ)
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """End in order."""
        self._stop.set()

    async def status(self) -> Status:
        """How full the outbox is."""
        return await self._outbox.call(lambda box: box.status(self._now()))

    async def condition(self) -> Condition:
        """How the agent is. Raises what the outbox raises."""
        folder = self._settings.state.folder
        free: int | None = None
        with contextlib.suppress(OSError):
            free = await asyncio.to_thread(self._doors.disk.free, folder)
        return Condition(
            outbox=await self.status(),
            device=Device(temperatures=temperatures(), disk_free=free, memory=memory()),
            cloud=self._sender.reachable if self._sender is not None else None,
            blocked=self._intake.blocked,
            stopping=self._stop.is_set(),
        )

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        """Open the local API, if there is to be one."""
        if self._settings.api.port is None:
            return
        meter = self._meter
        parts = Parts(
            settings=self._settings,
            engine=self._engine,
            intake=self._intake,
            reader=self._reader,
            outbox=self._outbox,
            recent=self._recent,
            metrics=self._metrics,
            condition=self.condition,
            uploaded=lambda: meter.bytes if meter is not None else 0,
        )
        address = await stack.enter_async_context(serving(parts))
        event(_log, "listening", address=address)

    async def run(self) -> None:
        """Work until told to stop, or until standard input is done with if there is nothing else
        to read. Raises what a loop did not expect.
        """
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._outbox.close)
            stack.callback(self._reader.close)
            sending = [await self._sending(stack)] if self._address is not None else []
            inner = [*self._sources(), self._intake.read_received(), self._keep_house(), *sending]
            outer = [courier.run() for courier in self._couriers]
            watchdog = asyncio.create_task(self._watchdog())
            stack.callback(watchdog.cancel)
            async with Loops(outer) as deliveries, Loops(inner) as others:
                await self._listen(stack)
                event(_log, "ready", upload=self._address is not None)
                self._notifier.tell(READY)
                await first(self._stop.wait(), deliveries.failed(), others.failed())
                event(_log, "stopping")
                self._notifier.tell(STOPPING)
                await others.end()
                await self._last_deliveries()
            with contextlib.suppress(TierocrError):  # on a full disk; an older note will do
                await self._note_moment()
        event(_log, "stopped")

    async def _sending(self, stack: contextlib.AsyncExitStack) -> Coroutine[Any, Any, None]:
        assert self._address is not None
        breaker = Breaker(failures_to_open=1, rest=self._retries.first)
        cloud = self._settings.cloud
        self._meter = meter = Meter(self._outbox, cloud.budget, [w.window for w in cloud.windows])
        refiner = await stack.enter_async_context(
            Refiner(self._address, breaker=breaker, book=meter.book, insist=False)
        )
        self._sender = Sender(
            self._outbox,
            refiner,
            breaker,
            retries=self._retries,
            parallel=cloud.parallel,
            clock=self._now,
            may_send=meter.wait,
        )
        return self._send(self._sender)

    async def _send(self, sender: Sender) -> None:
        """Send, for ever; but first give up what was prepared under other rules about what may
        leave.
        """
        rules = self._settings.privacy.model_dump_json()
        while True:
            try:
                for entry in await self._outbox.call(lambda box: _give_up_unless(box, rules)):
                    event(_log, "goes out as it is", document=entry.id, reason=entry.reason)
                break
            except TierocrError as error:
                _log.warning("the outbox cannot be used: %s", error)
                await asyncio.sleep(KEEP_HOUSE)
        self._outbox.tell()
        await sender.run()

    def _sources(self) -> list[Coroutine[Any, Any, None]]:
        watched = self._settings.sources.watch
        folders = [FolderSource(folder_settings(self._settings, w), self._intake) for w in watched]
        loops = [folder.run() for folder in folders]
        cameras = self._settings.sources.camera
        loops += [CameraSource(camera.rules, self._intake).run() for camera in cameras]
        if self._settings.sources.stdin:
            alone = not watched and not cameras and self._settings.api.port is None
            loops.append(self._read_stdin(alone=alone))
        return loops

    async def _read_stdin(self, *, alone: bool) -> None:
        """Take over what comes there; `alone`: end once it is delivered."""
        limits = self._settings.reading.limits
        try:
            data = await in_daemon_thread(lambda: read_all(self._doors.stdin, limits))
        except TierocrError as error:
            event(_log, "standard input cannot be read", level=logging.ERROR, error=str(error))
        else:
            await self._intake.receive(STDIN, data)
        while alone:
            if not (await self.status()).load.documents:
                self.stop()
                break
            await asyncio.sleep(_IDLE_LOOK)
        await asyncio.Event().wait()

    async def _keep_house(self) -> None:
        """What has expired goes out, what is long finished is forgotten; for ever."""
        noted = forgotten = float("-inf")
        while True:
            now = self._now()
            try:
                for entry in await self._outbox.call(self._over):
                    event(_log, "goes out as it is", document=entry.id, reason=entry.reason)
                    self._outbox.tell()
                if now - noted > _NOTE_EVERY:
                    await self._note_moment()
                    noted = now
                if now - forgotten > _FORGET_EVERY:
                    await self._outbox.call(lambda box: box.forget(self._now()))
                    forgotten = now
            except TierocrError as error:
                _log.warning("the outbox cannot be used: %s", error)
            await asyncio.sleep(min(KEEP_HOUSE, self._settings.outbox.expire_seconds))

    async def _note_moment(self) -> None:
        await self._outbox.call(lambda box: box.note_moment(self._now(), time.time()))

    def _over(self, outbox: Outbox) -> list[Entry]:
        """Give up what waits for the cloud in vain: all of it where nothing may leave."""
        if self._address is None:
            return outbox.refinements.give_up_all(NOT_SENT)
        return outbox.refinements.expire(self._now())

    async def _watchdog(self) -> None:
        """Tell the watchdog that the loop goes round and the outbox answers."""
        seconds = self._notifier.watchdog_seconds
        while seconds is not None:
            with contextlib.suppress(TierocrError):
                await self.status()
            self._notifier.tell(WATCHDOG)
            await asyncio.sleep(seconds / 3)

    async def _last_deliveries(self) -> None:
        """Let what is due arrive, for a while."""
        for courier in self._couriers:
            courier.idle.clear()
        self._outbox.tell()
        idle = asyncio.gather(*(courier.idle.wait() for courier in self._couriers))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(idle, self._settings.stop.grace_seconds)


def _give_up_unless(outbox: Outbox, rules: str) -> list[Entry]:
    """Nothing is sent of what was prepared under other rules about what may leave."""
    kept = outbox.note(PREPARED) or PrivacySettings().model_dump_json()
    if kept == rules:
        return []
    ended = outbox.refinements.give_up_all(RULES_CHANGED)
    outbox.put_note(PREPARED, rules)
    return ended


def make_agent(settings: EdgeSettings, reader: Reader, doors: Doors | None = None) -> Agent:
    """An agent of these settings; inside a running loop. Raises TierocrError `config_invalid`."""
    check(settings)
    return Agent(settings, reader, doors or process_doors())


OpenReader = Callable[[], Reader]


async def run(settings: EdgeSettings, *, open_reader: OpenReader | None = None) -> None:
    """Work until SIGTERM or SIGINT. Raises TierocrError `config_invalid`, or what opening the
    model raised.
    """
    check(settings)
    hand_over_soon()
    reading = settings.reading
    reader = await asyncio.to_thread(
        open_reader
        or (lambda: open_tuned(reading.pack, runtime=reading.runtime, precision=reading.precision))
    )
    agent = make_agent(settings, reader)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Where the loop has no signal handlers (Windows), Ctrl-C still ends the process.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, agent.stop)
    await agent.run()
