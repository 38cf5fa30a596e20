"""Regions that are not one line: found again, read, and joined in their order."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloud.conftest import Serve, body_of, post, region, reply_of
from tests.fakes.engines import DARK, OneAtATime, painted_reader, slow
from tests.fakes.painted import HEIGHT, paint
from tierocr.cloud.app import SERVICE
from tierocr.cloud.looking import (
    DOUBT_BELOW,
    FRAME,
    RUBBISH_BELOW,
    LineOf,
    Shape,
    framed,
    holds_several_lines,
    joined,
    lines_of,
    says_more,
    shape_of,
    worth_looking,
)
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import Pixels, Quad, Region
from tierocr.shared.engines import Output
from tierocr.shared.geometry import rectangle
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import (
    Refined,
    RefinedChar,
    RefineReply,
    WireLimits,
    unpack_request,
)

GAP = 24


def block(*texts: str) -> Pixels:
    """The lines below each other, flush left."""
    lines = [paint(text) for text in texts]
    width = max(line.shape[1] for line in lines)
    gap = np.full((GAP, width, 3), 255, dtype=np.uint8)
    wide = [
        np.pad(line, ((0, 0), (0, width - line.shape[1]), (0, 0)), constant_values=255)
        for line in lines
    ]
    return np.vstack([part for line in wide for part in (line, gap)][:-1])


def written(*texts: str) -> Pixels:
    """The lines as they are written."""
    picture = np.full((30 * len(texts) + 10, 400, 3), 255, dtype=np.uint8)
    for i, text in enumerate(texts):
        at = (8, 30 * (i + 1) - 4)
        cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2, cv2.LINE_AA)
    return picture


class BandFinder:
    """Finds every band of rows that has something dark in it. `before` runs inside each call."""

    runtime, precision = "fake 1.0 CPU", "f32"

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.device, self.before = OneAtATime(), before
        self.calls = 0

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        for batch in batches:
            with self.device:
                self.calls += 1
                self.before()
                dark = batch[0, ..., 0] < DARK
                found = np.zeros((1, 1, *dark.shape), dtype=np.float32)
                edges = np.flatnonzero(np.diff(dark.any(axis=1), prepend=False, append=False))
                for top, bottom in zip(edges[::2], edges[1::2], strict=True):
                    columns = np.flatnonzero(dark[top:bottom].any(axis=0))
                    found[0, 0, top:bottom, columns[0] : columns[-1] + 1] = 0.9
            yield Output(values=found)


def looking_reader(before: Callable[[], None] = lambda: None) -> tuple[Reader, BandFinder]:
    finder = BandFinder(before)
    reader, _ = painted_reader()
    reader.detector = Detector(finder, DetectorFacts(unclip_ratio=0.0))
    return reader, finder


# -- decisions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [2, 3, 4, 5])
def test_lines_below_each_other_are_seen(lines: int) -> None:
    assert holds_several_lines(written(*["Quarterly figures"] * lines))
    assert holds_several_lines(255 - written(*["light on dark"] * lines))


@pytest.mark.parametrize("text", ["Quarterly figures", "iiii jjjj", "1,234.50", "____"])
def test_one_line_is_none(text: str) -> None:
    assert not holds_several_lines(written(text)[8:])


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_any_crop_has_a_shape(height: int, width: int, seed: int) -> None:
    crop = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    shape = shape_of(crop)
    assert not (shape.blank and shape.several_lines)
    assert framed(crop).shape == (height + 2 * FRAME, width + 2 * FRAME, 3)
    assert shape_of(np.full_like(crop, 255)) == Shape(blank=True)


def test_what_is_worth_looking_into() -> None:
    sure, doubtful, rubbish = DOUBT_BELOW, RUBBISH_BELOW, RUBBISH_BELOW - 0.01
    assert not worth_looking(Shape(blank=True), 0.0)
    assert worth_looking(Shape(), 0.0)
    assert worth_looking(Shape(), rubbish)
    assert not worth_looking(Shape(), doubtful)
    assert worth_looking(Shape(tall=True), doubtful)
    assert not worth_looking(Shape(tall=True), sure)
    assert worth_looking(Shape(several_lines=True), 1.0)


def quad(x0: float, y0: float, x1: float, y1: float) -> Quad:
    return rectangle(x0 + FRAME, y0 + FRAME, x1 + FRAME, y1 + FRAME)


def test_lines_come_in_reading_order_without_slivers_and_know_where_they_stand() -> None:
    picture = framed(np.full((100, 200, 3), 255, dtype=np.uint8))
    quads = [quad(0, 60, 100, 80), quad(0, 0, 200, 6), quad(20, 20, 200, 40)]
    upper, lower = lines_of(picture, [Region(quad=q, score=0.9) for q in quads])
    assert (upper.start, upper.end) == (0.1, 1.0)
    assert (lower.start, lower.end) == (0.0, 0.5)
    assert upper.pixels.shape[0] == pytest.approx(20, abs=3)
    assert lines_of(picture, []) == []


def answer(text: str, probability: float = 0.9) -> Refined:
    chars = tuple(
        RefinedChar(text=c, score_raw=probability, start=i / len(text), end=(i + 1) / len(text))
        for i, c in enumerate(text)
    )
    return Refined(id="", text=text, chars=chars, score_raw=probability, confidence=probability)


def line(start: float = 0.0, end: float = 1.0) -> LineOf:
    return LineOf(pixels=paint(""), start=start, end=end)


def test_joined_lines_are_one_answer() -> None:
    whole = joined("x", [(line(), answer("ab")), (line(0.5, 1.0), answer("c", 0.6))])
    assert (whole.id, whole.text, whole.score_raw) == ("x", "ab c", 0.6)
    assert [(c.text, c.start, c.end) for c in whole.chars] == [
        ("a", 0.0, 0.5),
        ("b", 0.5, 1.0),
        (" ", 0.5, 0.5),
        ("c", 0.5, 1.0),
    ]
    assert joined("x", []) == Refined(id="x")
    assert joined("x", [(line(), answer("本人")), (line(), answer("同意"))]).text == "本人同意"
    assert joined("x", [(line(), answer("第1")), (line(), answer("页"))]).text == "第1 页"


def test_neither_rubbish_nor_half_of_a_text_is_taken() -> None:
    assert says_more(answer("two lines", 0.9), answer("tlins", 0.7))
    assert says_more(answer("both", 0.9), answer("bo", 0.95))
    assert not says_more(answer("half", 0.99), answer("half a text", 0.9))
    assert not says_more(answer("rubbish rubbish", 0.5), answer("ab", 0.9))
    assert not says_more(Refined(id=""), answer("a", 0.4))


# -- through HTTP ------------------------------------------------------------------------------


async def test_a_region_of_several_lines_is_read_line_by_line(serve: Serve) -> None:
    reader, finder = looking_reader()
    client = await serve(lambda: reader)
    crop = block("thefirst", "second", "third")
    response = await post(client, body_of(region("x", crop), region("y", paint("alone"))))
    _, results = await reply_of(response)
    assert results["x"].text == "thefirst second third"
    assert "".join(c.text for c in results["x"].chars) == results["x"].text
    assert all(0 <= c.start <= c.end <= 1 for c in results["x"].chars)
    assert results["y"].text == "alone"
    calls = finder.calls
    await reply_of(await post(client, body_of(region("y", paint("alone")))))
    assert finder.calls == calls, "one line that reads well is not looked at"
    assert 'stage="detect"' in await (await client.get("/metrics")).text()


async def test_a_line_that_stands_somewhere_in_an_empty_region_is_found(serve: Serve) -> None:
    reader, _ = looking_reader()
    client = await serve(lambda: reader)
    crop = np.full((4 * HEIGHT, 300, 3), 255, dtype=np.uint8)
    words = paint("low")
    crop[-HEIGHT - 10 : -10, 100 : 100 + words.shape[1]] = words
    _, results = await reply_of(await post(client, body_of(region("x", crop))))
    assert results["x"].text == "low"
    first = results["x"].chars[0]
    assert first.start == pytest.approx(108 / 300, abs=0.05)


async def test_a_tall_block_of_short_lines_is_read(serve: Serve) -> None:
    reader, _ = looking_reader()
    client = await serve(lambda: reader)
    crop = block("ab", "cd", "ef", "gh")
    assert crop.shape[0] > 2 * crop.shape[1]
    _, results = await reply_of(await post(client, body_of(region("x", crop))))
    assert results["x"].text == "ab cd ef gh"


async def test_a_detector_that_fails_costs_the_second_view_only(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    broken = False

    def fail() -> None:
        if broken:
            raise RuntimeError("the driver fell over")

    reader, _ = looking_reader(fail)
    client = await serve(lambda: reader)
    broken = True
    crop = block("thefirst", "second")
    response = await post(client, body_of(region("x", crop), region("y", paint("alone"))))
    _, results = await reply_of(response)
    assert results["x"].error is None and results["y"].text == "alone"
    assert "second view" in caplog.text


async def test_a_detector_that_is_late_costs_no_answer(serve: Serve) -> None:
    gate = threading.Event()
    gate.set()
    reader, _ = looking_reader(lambda: (gate.wait(10), None)[1])
    client = await serve(lambda: reader)
    gate.clear()
    try:
        response = await post(
            client, body_of(region("x", block("thefirst", "second"))), X_Deadline_Ms="700"
        )
        _, results = await reply_of(response)
        assert results["x"].error is None
    finally:
        gate.set()


async def test_who_has_much_to_look_at_waits_for_itself(serve: Serve) -> None:
    reader, finder = looking_reader(slow(0.1))
    client = await serve(lambda: reader)
    service = client.app[SERVICE]

    def ask(owner: str, *texts: str) -> asyncio.Task[RefineReply]:
        regions = [region(text, block(text, "below")) for text in texts]
        request = unpack_request(body_of(*regions), WireLimits())
        return asyncio.create_task(service.refine(request, time.monotonic() + 30, owner))

    before = finder.calls
    flood = ask("flood", *("abcdefghijkl"[:n] for n in range(1, 13)))
    await asyncio.sleep(0.1)  # it has begun
    (result,) = (await ask("other", "urgent")).results
    assert result.text == "urgent below"
    assert finder.calls - before < 10, "not after all of the flood"
    assert len((await flood).results) == 12
