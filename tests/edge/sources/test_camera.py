"""Documents before a camera: when one lies still, and the source over a generated video."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierocr.edge.outbox.states import Entry
from tierocr.edge.outbox.values import Arrival, Kept
from tierocr.edge.sources.camera import CameraRules, CameraSource, Frames, VideoFrames
from tierocr.edge.sources.stillness import Scene, StillRules, look, small
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages

RATE = 10
DESK, WIDTH, HEIGHT = 90, 240, 160
NOISE = np.random.default_rng(0).normal(0, 3, (HEIGHT, WIDTH, 3))


def scene(
    *, document: int | None = None, shift: int = 0, light: float = 0.0, seed: int = 0
) -> Pixels:
    """A desk, with a document of dark lines on it."""
    frame = np.full((HEIGHT, WIDTH, 3), DESK, dtype=np.float32)
    if document is not None:
        left, draw = (100 + shift) // 2, np.random.default_rng(document)
        frame[20:140, max(0, left) : max(0, left + 110)] = 235
        for top in range(30, 130, 12):
            for at in range(left + 8, left + 100, 9):
                if draw.random() < 0.7 and 0 <= at < WIDTH - 6:
                    frame[top : top + 6, at : at + 6] = 30
    noise = np.roll(NOISE, 97 * seed)
    return np.clip(frame + noise + light, 0, 255).astype(np.uint8)


def film(*documents: int, still: int = 20, drift: float = 0.0) -> Iterator[Pixels]:
    """Each document is pushed in, lies there for so many frames, and is taken away."""
    count = 0

    def shot(document: int | None = None, shift: int = 0) -> Pixels:
        nonlocal count
        count += 1
        return scene(document=document, shift=shift, light=drift * count, seed=count)

    yield from (shot() for _ in range(15))
    for document in documents:
        yield from (shot(document, shift) for shift in range(-300, 0, 40))
        yield from (shot(document) for _ in range(still))
        yield from (shot(document, shift) for shift in range(40, 400, 40))
        yield from (shot() for _ in range(15))


def reads(frames: Iterator[Pixels], rules: StillRules | None = None) -> list[int]:
    """At which frames something was read."""
    found, state = [], Scene()
    for n, frame in enumerate(frames):
        state, now = look(state, small(frame), n / RATE, rules or StillRules())
        if now:
            found.append(n)
    return found


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(1, 9), max_size=3), st.sampled_from((0.0, 0.3, -0.3)))
def test_each_document_is_read_once(documents: list[int], drift: float) -> None:
    assert len(reads(film(*documents, drift=drift))) == len(documents)


def test_a_document_that_lies_there_for_long_is_read_once() -> None:
    assert len(reads(film(1, still=100, drift=0.2))) == 1


def test_one_that_does_not_lie_still_is_not_read() -> None:
    assert reads(film(1, 2, still=6)) == []


def test_a_document_that_is_there_from_the_start_is_read() -> None:
    assert len(reads(scene(document=3, seed=n) for n in range(30))) == 1


def test_one_laid_over_another_is_read_too() -> None:
    frames = [scene(document=d, seed=n) for d in (1, 2) for n in range(20)]
    assert len(reads(iter(frames))) == 2


@dataclass
class Takes:
    """An intake that remembers."""

    arrivals: list[tuple[Arrival, bytes]] = field(default_factory=list)

    async def receive(self, arrival: Arrival, data: bytes) -> Kept:
        self.arrivals.append((arrival, data))
        entry = Entry(
            number=1,
            id="x",
            sha256="",
            name=arrival.name,
            output="",
            source="",
            received=0,
            deadline=0,
        )
        return Kept(entry=entry)


async def test_a_video_file_is_watched_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "film.avi"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), RATE, (WIDTH, HEIGHT))
    for frame in film(4, 5):
        video.write(frame)
    video.release()
    takes = Takes()
    rules = CameraRules(name="desk", device=str(path), looks_per_second=10)
    await CameraSource(rules, takes).run()
    assert [a.source for a, _ in takes.arrivals] == ["desk", "desk"]
    for document, (_, data) in zip((4, 5), takes.arrivals, strict=True):
        (image,) = decode_pages(data, limits=Limits())
        assert not isinstance(image, PageFailure)
        wanted = scene(document=document).astype(int)
        assert np.abs(image.pixels.astype(int) - wanted).mean() < 12


@dataclass
class Failing:
    """A camera that comes and goes."""

    frames: list[Pixels]
    live: bool = True

    def next(self) -> tuple[float, Pixels] | None:
        return (0.0, self.frames.pop()) if self.frames else None

    def close(self) -> None:
        pass


async def test_a_camera_that_is_lost_is_opened_again() -> None:
    opened = 0

    def open_frames(rules: CameraRules) -> Frames:
        nonlocal opened
        opened += 1
        if opened == 1:
            raise TierocrError("device_unavailable", "unplugged")
        return Failing(frames=[scene()] if opened == 2 else [], live=opened < 4)

    rules = CameraRules(name="desk", device=0)
    await CameraSource(rules, Takes(), open_frames, first_wait=0.01).run()
    assert opened == 4


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "no.avi").write_bytes(b"no video")
    with pytest.raises(TierocrError) as caught:
        VideoFrames(CameraRules(name="desk", device=str(tmp_path / "no.avi")))
    assert caught.value.code == "device_unavailable"
