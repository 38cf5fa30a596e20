"""A camera, or a video file, as a source: each document that lies still is read once.

Frames come through OpenCV, on a thread of their own; when to read is decided by `stillness`. A
camera that fails is opened again, ever more seldom. What was taken is safe before the next frame is
looked at.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import cv2

from tierocr.edge.backoff import delay
from tierocr.edge.logs import event
from tierocr.edge.outbox.values import Arrival, Kept
from tierocr.edge.sources.stillness import Scene, StillRules, look, small
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraRules:
    """`device`: the number of a V4L2 device, or the path of a device or video file. `width`,
    `height`: what the camera is asked for. `looks_per_second`: how many frames are compared.
    """

    name: str
    device: int | str
    width: int | None = None
    height: int | None = None
    looks_per_second: float = 5.0
    still: StillRules = field(default_factory=StillRules)


class Frames(Protocol):
    """A run of frames. `live`: more come as time goes by; else they end."""

    live: bool

    def next(self) -> tuple[float, Pixels] | None:
        """Seconds since its start, and the frame: (H, W, 3) uint8 BGR. None at the end, or when
        the camera fails.
        """

    def close(self) -> None:
        """Let go of the camera."""


class Intake(Protocol):
    """Where documents go; see `intake.ReadingIntake`."""

    async def receive(self, arrival: Arrival, data: bytes) -> Kept:
        """Take over bytes that have no file of their own."""


Open = Callable[[CameraRules], Frames]


class CameraSource:
    """One camera."""

    def __init__(
        self,
        rules: CameraRules,
        intake: Intake,
        open_frames: Open | None = None,
        *,
        first_wait: float = 1.0,
    ) -> None:
        """`first_wait`: seconds, at most, before a camera that was lost is first opened again."""
        self._first_wait = first_wait
        self._rules, self._intake = rules, intake
        self._open = open_frames or VideoFrames
        self._taken = 0

    async def run(self) -> None:
        """Look, for ever, or until a video file ends."""
        loop, failures = asyncio.get_running_loop(), 0
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"camera {self._rules.name}")
        try:
            while True:
                frames: Frames | None = None
                try:
                    frames = await loop.run_in_executor(thread, self._open, self._rules)
                    if await self._watch(frames, thread):
                        failures = 0
                    if not frames.live:
                        event(_log, "the video has ended", source=self._rules.name)
                        return
                    why = "no more frames came"
                except TierocrError as error:
                    why = error.message
                finally:
                    if frames is not None:
                        await loop.run_in_executor(thread, frames.close)
                event(_log, "camera lost", level=logging.WARNING, source=self._rules.name, why=why)
                await asyncio.sleep(delay(failures, None, random.random(), base=self._first_wait))
                failures += 1
        finally:
            thread.shutdown(wait=False)

    async def _watch(self, frames: Frames, thread: ThreadPoolExecutor) -> bool:
        """Look at frames until there are no more; True if there were any."""
        loop, scene, due, any_came = asyncio.get_running_loop(), Scene(), 0.0, False
        while (found := await loop.run_in_executor(thread, frames.next)) is not None:
            at, frame = found
            any_came = True
            if at < due:
                continue
            due = at + 1 / self._rules.looks_per_second
            scene, still = look(scene, small(frame), at, self._rules.still)
            if still:
                await self._take(frame)
        return any_came

    async def _take(self, frame: Pixels) -> None:
        data = await asyncio.to_thread(_encoded, frame)
        self._taken += 1
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
        name = f"{self._rules.name}-{stamp}.png"
        await self._intake.receive(Arrival(source=self._rules.name, name=name), data)
        event(_log, "a document lies still", source=self._rules.name, name=name, n=self._taken)


class VideoFrames:
    """Through OpenCV."""

    def __init__(self, rules: CameraRules) -> None:
        """Raises TierocrError `device_unavailable`."""
        self.live = isinstance(rules.device, int) or rules.device.startswith("/dev/")
        self._video = cv2.VideoCapture(rules.device)
        if not self._video.isOpened():
            self._video.release()
            raise TierocrError("device_unavailable", f"{rules.device} cannot be opened")
        if rules.width is not None and rules.height is not None:
            self._video.set(cv2.CAP_PROP_FRAME_WIDTH, rules.width)
            self._video.set(cv2.CAP_PROP_FRAME_HEIGHT, rules.height)
        self._rate = self._video.get(cv2.CAP_PROP_FPS) or 25.0
        self._started, self._count = time.monotonic(), 0

    def next(self) -> tuple[float, Pixels] | None:
        """See `Frames`; the time of a file is that of its frames."""
        came, frame = self._video.read()
        if not came:
            return None
        self._count += 1
        played = self._count / self._rate
        at = time.monotonic() - self._started if self.live else played
        return at, frame  # type: ignore[return-value]

    def close(self) -> None:
        """See `Frames`."""
        self._video.release()


def _encoded(frame: Pixels) -> bytes:
    """Without loss: what the lens has seen is all there is."""
    ok, data = cv2.imencode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not ok:
        raise TierocrError("internal", "a frame could not be encoded")
    return data.tobytes()
