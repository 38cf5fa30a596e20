"""Both tiers over fake networks and a nasty service: the edge's reading always arrives."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.fakes.cloud import (
    Answer,
    after,
    body,
    fake_cloud,
    hang,
    hang_midway,
    hang_up,
    reading,
    results,
    right,
    shout,
    status,
)
from tests.fakes.painted import png
from tests.fakes.rows import page, rows_reader, tiff
from tierocr.edge.crops import MAX_HEIGHT
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.routing import OVER_BYTES, OVER_SHARE, SURE, UNSURE, RoutingPolicy
from tierocr.edge.tiering import ReadOptions, TieredDocument, TieredReader
from tierocr.shared.document import (
    CLOUD,
    EDGE,
    Alternative,
    Document,
    Failure,
    Page,
    PageImage,
    Pixels,
    TextRun,
)
from tierocr.shared.engines import Output
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.pictures import upright
from tierocr.shared.geometry import rectangle
from tierocr.shared.images import Limits
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import Refined, RefineRequest

ALL = RoutingPolicy(threshold=0.97, max_share=1.0, bytes_per_page=10**7)
SLACK = 5.0


async def read(
    inputs: Sequence[bytes],
    url: str | None = None,
    *,
    reader: Reader | None = None,
    deadline: float = 5.0,
    **options: Any,
) -> list[TieredDocument]:
    """Read all inputs at the same time."""
    chosen = ReadOptions(**{"policy": ALL, **options})
    async with Refiner(CloudAddress(url=url or "http://x", deadline=deadline)) as refiner:
        tiered = TieredReader(reader or rows_reader(), refiner if url else None, chosen)
        try:
            reads = [tiered.read(data, f"{i}.png") for i, data in enumerate(inputs)]
            return list(await asyncio.gather(*reads))
        finally:
            tiered.close()


async def read_one(data: bytes, url: str | None = None, **more: Any) -> TieredDocument:
    (result,) = await read([data], url, **more)
    return result


def texts(document: Document) -> list[list[str]]:
    return [[line.text for line in p.lines] for p in document.pages]


def reasons(result: TieredDocument) -> list[str | None]:
    return [line.route.reason if line.route else None for line in result.document.pages[0].lines]


# -- what came from where ----------------------------------------------------------------------


async def test_unsure_lines_come_from_the_cloud() -> None:
    with fake_cloud(right) as cloud:
        result = await read_one(png(page("hello", "sun", "world")), cloud.url)
    first, sure, last = result.document.pages[0].lines
    assert [first.text, sure.text, last.text] == ["HELLO", "sun", "WORLD"]
    assert [first.source, sure.source, last.source] == [CLOUD, EDGE, CLOUD]
    assert first.alternatives == (Alternative(text="hello", source=EDGE, score_raw=0.9375),)
    assert sure.alternatives == ()
    assert reasons(result) == [UNSURE, SURE, UNSURE]
    assert first.route is not None and sure.route is not None
    assert first.route.bytes > 0 and sure.route.bytes == 0
    assert first.route.p_error == pytest.approx(0.0625)
    assert [w.text for w in first.words] == ["HELLO"]
    (refinement,) = result.refinements
    assert (refinement.sent_lines, refinement.changed) == (2, 2)
    assert refinement.sent_bytes == sum(
        len(r.image) for call in cloud.calls for r in call.message.regions
    )
    assert [line.text for line in result.edge_pages[0].lines] == ["hello", "sun", "world"]
    assert result.document.errors == () and result.document.status == "final"


async def test_what_is_sent_is_only_the_unsure_lines() -> None:
    pixels = page("hello", "sun", "world")
    with fake_cloud(right) as cloud:
        result = await read_one(png(pixels), cloud.url)
    (call,) = cloud.calls
    assert [r.text for r in call.message.regions] == ["hello", "world"]
    assert call.message.page.id == f"{result.document.sha256[:32]}/0"
    assert (call.message.page.width, call.message.page.height) == pixels.shape[1::-1]
    for region in call.message.regions:
        crop = cv2.imdecode(np.frombuffer(region.image, np.uint8), cv2.IMREAD_COLOR)
        assert crop is not None and crop.shape[0] <= MAX_HEIGHT
        assert 0 < region.margin < 10
        assert region.p_error == pytest.approx(0.0625)


async def test_without_a_refiner_nothing_is_routed() -> None:
    result = await read_one(png(page("hello")))
    assert texts(result.document) == [["hello"]]
    assert result.document.pages[0].lines[0].route is None
    assert result.refinements[0].sent_lines == 0


async def test_the_cloud_may_agree() -> None:
    with fake_cloud(results(lambda m: [reading(r.id, r.text) for r in m.regions])) as cloud:
        result = await read_one(png(page("hello")), cloud.url)
    assert result.document.pages[0].lines[0].source == CLOUD
    assert result.refinements[0].changed == 0


async def test_a_less_probable_answer_is_taken_as_nothing_is_calibrated() -> None:
    with fake_cloud(results(lambda m: [reading("0", "HELLO", score=0.01)])) as cloud:
        result = await read_one(png(page("hello")), cloud.url)
    assert texts(result.document) == [["HELLO"]]


async def test_each_answer_is_judged_alone() -> None:
    def make(message: RefineRequest) -> list[Refined]:
        return [
            reading("3", "DELTA"),
            reading("0", "شكرا"),
            Refined(id="1", error=Failure(code="bad_image", message="torn")),
            reading("2", "HAHAHAHAHA"),
            reading("99", "NOBODY"),
            reading("x", "NOBODY"),
        ]

    with fake_cloud(results(make)) as cloud:
        result = await read_one(png(page("alpha", "beta", "gamma", "delta", "eta")), cloud.url)
    assert texts(result.document) == [["alpha", "beta", "gamma", "DELTA", "eta"]]
    assert reasons(result) == [
        "unsure, refused: script",
        "unsure, refused: error",
        "unsure, refused: loop",
        UNSURE,
        UNSURE,  # the cloud said nothing about it
    ]
    assert result.document.errors == ()


async def test_an_answer_for_a_line_that_was_not_sent_is_ignored() -> None:
    def make(message: RefineRequest) -> list[Refined]:
        return [reading(str(i), text) for i, text in enumerate(["HELLO", "SUN", "WORLD"])]

    with fake_cloud(right) as cloud:
        sent = (await read_one(png(page("hello")), cloud.url)).refinements[0].sent_bytes
    tight = replace(ALL, bytes_per_page=int(sent * 1.5), burst_bytes=0)
    with fake_cloud(results(make)) as cloud:
        result = await read_one(png(page("hello", "sun", "world")), cloud.url, policy=tight)
    assert cloud.lines == ["hello"]
    assert reasons(result) == [UNSURE, SURE, OVER_BYTES]
    assert texts(result.document) == [["HELLO", "sun", "world"]]


async def test_a_share_is_kept_over_all_inputs() -> None:
    policy = RoutingPolicy(threshold=0.97, max_share=0.25, burst_lines=0, lines_per_page=1)
    pixels = page("alpha", "beta", "gamma", "delta", "eta", "zeta")
    with fake_cloud(right) as cloud:
        done = await read([png(pixels)] * 4, cloud.url, policy=policy)
        together = len(cloud.lines)
        done.append(await read_one(tiff([pixels] * 4), cloud.url, policy=policy))
    for results_of, sent in ((done[:4], together), (done[4:], len(cloud.lines) - together)):
        assert 4 <= sent <= 6  # a quarter of 24, and at least one of each page
        lines = [line for r in results_of for p in r.document.pages for line in p.lines]
        assert sum(line.source == CLOUD for line in lines) == sent
        over = [line for line in lines if line.route and line.route.reason == OVER_SHARE]
        assert len(over) == 24 - sent


async def test_the_files_own_text_is_never_sent() -> None:
    class WithText(Reader):
        def read(self, image: PageImage) -> Any:
            run = TextRun(text="from the file", quad=rectangle(0, 300, 50, 320))
            return super().read(replace(image, text_layer=(run,)))

    plain = rows_reader()
    reader = WithText(plain.detector, plain.recogniser, info=plain.info)
    with fake_cloud(right) as cloud:
        result = await read_one(png(page("hello")), cloud.url, reader=reader)
    assert cloud.lines == ["hello"]
    assert sorted(texts(result.document)[0]) == ["HELLO", "from the file"]


# -- whatever the cloud does -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(hang, "deadline_exceeded", id="hang"),
        pytest.param(hang_midway, "deadline_exceeded", id="hang midway"),
        pytest.param(hang_up, "unavailable", id="hang up"),
        pytest.param(body(b"<html>"), "unavailable", id="html"),
        pytest.param(status(401), "unauthorized", id="401"),
        pytest.param(status(429, Retry_After="99"), "rate_limited", id="429"),
        pytest.param(status(503, Retry_After="99"), "over_capacity", id="503"),
        pytest.param(status(500, Retry_After="99"), "unavailable", id="500"),
    ],
)
async def test_the_edges_reading_arrives_in_time(answer: Answer, code: str) -> None:
    data = png(page("hello", "sun", "world"))
    alone = await read_one(data)
    started = time.monotonic()
    with fake_cloud(answer) as cloud:
        result = await read_one(data, cloud.url, deadline=0.5)
        assert time.monotonic() - started < 0.5 + SLACK
        assert cloud.calls
    assert texts(result.document) == texts(alone.document) == [["hello", "sun", "world"]]
    assert [e.code for e in result.document.errors] in ([code], ["deadline_exceeded"])
    assert result.document.status == "final"
    assert {line.source for line in result.document.pages[0].lines} == {EDGE}
    assert reasons(result) == [UNSURE, SURE, UNSURE]
    assert result.refinements[0].failure in result.document.errors


async def test_nobody_listens() -> None:
    with fake_cloud(right) as cloud:
        pass
    result = await read_one(png(page("hello")), cloud.url, deadline=0.3)
    assert texts(result.document) == [["hello"]]
    assert [e.code for e in result.document.errors] == ["unavailable"]


async def test_a_dead_cloud_is_not_asked_for_every_page() -> None:
    with fake_cloud(status(401)) as cloud:
        inputs = [png(page("hello"))] * 12
        async with Refiner(CloudAddress(url=cloud.url)) as refiner:
            tiered = TieredReader(rows_reader(), refiner, ReadOptions(policy=ALL))
            done = [await tiered.read(data, "x") for data in inputs]
            tiered.close()
        assert len(cloud.calls) == 3
    assert all(texts(r.document) == [["hello"]] for r in done)
    assert done[-1].document.errors[0].code == "unavailable"


# -- pages and files ---------------------------------------------------------------------------


async def test_every_page_is_refined_by_itself() -> None:
    data = tiff([page("alpha", "sun"), page("beta"), page("sss"), page("gamma", "delta")])
    with fake_cloud(right) as cloud:
        result = await read_one(data, cloud.url)
    assert texts(result.document) == [["ALPHA", "sun"], ["BETA"], ["sss"], ["GAMMA", "DELTA"]]
    pages = {call.message.page.id.rpartition("/")[2]: call.message for call in cloud.calls}
    assert set(pages) == {"0", "1", "3"}  # the third has nothing to ask
    assert [r.text for r in pages["3"].regions] == ["gamma", "delta"]
    assert [r.sent_lines for r in result.refinements] == [1, 1, 0, 2]


async def test_one_page_may_fail_to_be_refined() -> None:
    data = tiff([page("alpha"), page("beta"), page("gamma")])

    def make(message: RefineRequest) -> list[Refined]:
        return [] if message.regions[0].text == "beta" else [shout(r) for r in message.regions]

    with fake_cloud(results(make)) as cloud:
        result = await read_one(data, cloud.url)
    assert texts(result.document) == [["ALPHA"], ["beta"], ["GAMMA"]]


async def test_the_same_failure_is_told_once() -> None:
    data = tiff([page("alpha"), page("beta")])
    with fake_cloud(status(401)) as cloud:
        result = await read_one(data, cloud.url)
    assert [e.code for e in result.document.errors] == ["unauthorized"]


async def test_a_failed_page_among_good_ones() -> None:
    small, large = page("alpha"), page("beta" * 20)
    data = tiff([small, large, small])
    limits = Limits(max_pixels=small.shape[0] * small.shape[1])
    with fake_cloud(right) as cloud:
        result = await read_one(data, cloud.url, limits=limits)
    assert texts(result.document) == [["ALPHA"], [], ["ALPHA"]]
    assert [p.index for p in result.document.pages] == [0, 1, 2]
    assert [p.error and p.error.code for p in result.document.pages] == [None, "too_large", None]
    assert [e.code for e in result.document.errors] == ["too_large"]
    assert result.document.status == "final"


@pytest.mark.parametrize("data", [b"", b"no image", png(page("hello"))[:60]])
async def test_a_file_that_is_none(data: bytes) -> None:
    with fake_cloud(right) as cloud:
        result = await read_one(data, cloud.url)
    assert result.document.status == "failed"
    assert result.document.pages == () and len(result.document.errors) == 1
    assert cloud.calls == []


async def test_a_page_without_text() -> None:
    with fake_cloud(right) as cloud:
        result = await read_one(png(page()), cloud.url)
    assert texts(result.document) == [[]] and cloud.calls == []
    assert result.document.status == "final" and result.document.errors == ()


async def test_several_inputs_in_flight_do_not_mix() -> None:
    names = ["alpha", "beta", "gamma", "delta", "eta"]
    inputs = [tiff([page(name), page("zeta", name)]) for name in names]
    with fake_cloud(after(0.05, right)) as cloud:
        done = await read(inputs, cloud.url)
    for name, result in zip(names, done, strict=True):
        assert texts(result.document) == [[name.upper()], ["ZETA", name.upper()]]
    assert len({r.document.id for r in done}) == len(names)
    assert len(cloud.calls) == 2 * len(names)


async def test_pages_come_in_order_whichever_is_read_first() -> None:
    texts = [f"{'abcdefgh'[k]}" * (1 + 3 * (k % 3)) for k in range(8)]
    turn = iter(range(100))
    reader = rows_reader(lambda: time.sleep(0.05 if next(turn) % 2 == 0 else 0))
    (done,) = await read([tiff([page(text) for text in texts])], reader=reader)
    assert [p.lines[0].text for p in done.document.pages] == texts
    assert [p.index for p in done.document.pages] == list(range(8))


async def test_while_one_page_is_recognised_the_next_is_detected() -> None:
    detected, recognised = threading.Event(), threading.Event()

    def wait_for_the_next() -> None:
        """In the recogniser, called for the first page only."""
        if not recognised.is_set():
            recognised.set()
            assert detected.wait(5), "the second page was not looked at meanwhile"

    reader = rows_reader(wait_for_the_next)
    finder, count = reader.detector.engine, iter(range(100))

    class Counting:
        runtime, precision = finder.runtime, finder.precision

        def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
            if next(count) == 1:
                detected.set()
            return finder.run(batches)

    reader.detector.engine = Counting()
    (done,) = await read([tiff([page("ab"), page("cd")])], reader=reader)
    assert [p.lines[0].text for p in done.document.pages] == ["ab", "cd"]


async def test_two_pages_are_recognised_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def wait_for_the_other() -> None:
        both.wait(5)

    reader = rows_reader(wait_for_the_other)
    (done,) = await read([tiff([page("as"), page("cs")])], reader=reader)  # certain: one call each
    assert [p.lines[0].text for p in done.document.pages] == ["as", "cs"]


async def test_many_files_of_many_pages_at_once_all_arrive() -> None:
    files = [tiff([page(f"{'abcd'[f]}" * (k + 1)) for k in range(5)]) for f in range(4)]
    found = await asyncio.wait_for(read(files), 60)
    for f, done in enumerate(found):
        texts = [p.lines[0].text for p in done.document.pages]
        assert texts == ["abcd"[f] * (k + 1) for k in range(5)]


async def test_pages_before_the_one_that_breaks_the_file_are_kept() -> None:
    whole = tiff([page("ab"), page("cd"), page("ef")])
    (done,) = await read([whole[: len(whole) * 2 // 3]])
    texts = [line.text for p in done.document.pages for line in p.lines]
    assert texts == ["ab", "cd", "ef"][: len(texts)]
    assert done.document.errors


async def test_the_same_bytes_give_the_same_document_and_key() -> None:
    data = png(page("hello"))
    with fake_cloud(right) as cloud:
        one, other = await read([data, data], cloud.url)
    assert one.document.pages == other.document.pages and one.document.id == other.document.id
    keys = {call.headers["Idempotency-Key"] for call in cloud.calls}
    assert len(keys) == 1


# -- the device --------------------------------------------------------------------------------


def fails_at(call: int) -> Callable[[], None]:
    calls = iter(range(1000))

    def before() -> None:
        if next(calls) == call:
            raise TierocrError("internal", "the device fell over")

    return before


@pytest.mark.parametrize("call", [0, 1])
async def test_a_failing_engine_is_no_failing_file(call: int) -> None:
    data = tiff([page("alpha"), page("beta"), page("gamma")])
    with fake_cloud(right) as cloud, pytest.raises(TierocrError) as caught:
        await read_one(data, cloud.url, reader=rows_reader(fails_at(call)))
    assert caught.value.code == "internal"


async def test_it_can_be_used_again_after_a_failure() -> None:
    tiered = TieredReader(rows_reader(fails_at(0)))
    data = png(page("hello"))
    with pytest.raises(TierocrError):
        await tiered.read(data, "a")
    assert texts((await tiered.read(data, "a")).document) == [["hello"]]
    tiered.close()


# -- turned pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 2])
async def test_crops_are_cut_from_the_page_as_it_was_read(turns: int) -> None:
    lying = np.ascontiguousarray(np.rot90(page("azazaz", "bzbzbz", "czczcz"), turns))
    with fake_cloud(right) as cloud:
        result = await read_one(png(lying), cloud.url)
    assert result.document.pages[0].orientation == 90 * turns
    assert texts(result.document) == [["AZAZAZ", "BZBZBZ", "CZCZCZ"]]
    for region in cloud.calls[0].message.regions:
        crop = cv2.imdecode(np.frombuffer(region.image, np.uint8), cv2.IMREAD_GRAYSCALE)
        assert crop is not None
        middle = crop[crop.shape[0] // 4 : crop.shape[0] * 3 // 4]
        left, right_end = middle[:, 13:21].mean(), middle[:, -28:-20].mean()
        assert left < 40 < right_end  # an a is darker than a z


@pytest.mark.parametrize("stored", [0, 90, 180, 270])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_pixels_are_turned_as_the_reader_turned_them(stored: int, turns: int) -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    image = PageImage(pixels=pixels, orientation=stored)
    height, width = (2, 3) if turns % 2 == 0 else (3, 2)
    read_as = Page(index=0, width=width, height=height, orientation=(stored + 90 * turns) % 360)
    turned = upright(image, read_as)
    expected = np.asarray(Image.fromarray(pixels).rotate(-90 * turns, expand=True))
    assert turned.flags.c_contiguous and np.array_equal(turned, expected)
