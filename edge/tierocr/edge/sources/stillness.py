"""When a document lies still before a camera: small grey frames in, "read it now" out. Pure.

A scene that is still, shows something, and is another than the last still one, is read once. Taken
away, it leaves a scene in which nothing is to be seen; whatever is laid there next is read again.
Time is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tierocr.shared.document import Pixels

Grey = NDArray[np.uint8]
"""(H, W) uint8."""

WIDTH = 160
"""Of a small frame; differences of sensors and of light vanish at this size."""

_LEVELS = 18
"""A pixel has changed if it is so much lighter or darker."""

_EDGE = 40
"""A step between neighbours that is an edge."""

_DRIFT = 0.05
"""How much of a still scene goes into what it is compared with: light changes slowly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillRules:
    """`still_seconds`: so long nothing must move. `moving`, `other`: share of pixels that change
    when something moves, and when another document lies there. `detail`: share of edges without
    which there is nothing to read.
    """

    still_seconds: float = 1.0
    moving: float = 0.01
    other: float = 0.03
    detail: float = 0.005


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """What was seen so far. `last`: the newest frame; `since`: from when on nothing has moved;
    `settled`: the last scene that was still.
    """

    last: Grey | None = None
    since: float = 0.0
    settled: NDArray[np.float32] | None = None


def look(scene: Scene, frame: Grey, at: float, rules: StillRules) -> tuple[Scene, bool]:
    """The next frame, `at` seconds: what is known then, and whether what lies there is to be read
    now.
    """
    if scene.last is None or scene.last.shape != frame.shape:
        return Scene(last=frame, since=at), False
    if changed(scene.last, frame) > rules.moving:
        return replace(scene, last=frame, since=at), False
    if at - scene.since < rules.still_seconds:
        return replace(scene, last=frame), False
    seen = frame.astype(np.float32)
    if scene.settled is not None and changed(scene.settled, frame) <= rules.other:
        drifted = (1 - _DRIFT) * scene.settled + _DRIFT * seen
        return replace(scene, last=frame, settled=drifted), False
    settled = Scene(last=frame, since=scene.since, settled=seen)
    return settled, detail(frame) >= rules.detail


def changed(before: NDArray[np.uint8] | NDArray[np.float32], after: Grey) -> float:
    """Share of pixels that are another, once the light is the same."""
    a, b = before.astype(np.float32), after.astype(np.float32)
    b = b + (np.median(a) - np.median(b)) if abs(np.median(a) - np.median(b)) < _LEVELS else b
    return float((np.abs(a - b) > _LEVELS).mean())


def detail(frame: Grey) -> float:
    """Share of pixels that differ much from a neighbour."""
    grey = frame.astype(np.int16)
    across = np.abs(np.diff(grey, axis=1))[:-1] > _EDGE
    down = np.abs(np.diff(grey, axis=0))[:, :-1] > _EDGE
    return float((across | down).mean())


def small(frame: Pixels) -> Grey:
    """A frame as it is compared: grey, each pixel the mean of a block."""
    step = max(1, frame.shape[1] // WIDTH)
    height, width = frame.shape[0] // step, frame.shape[1] // step
    blocks = frame[: height * step, : width * step].reshape(height, step, width, step, 3)
    grey: Grey = blocks.mean(axis=(1, 3, 4)).astype(np.uint8)
    return grey
