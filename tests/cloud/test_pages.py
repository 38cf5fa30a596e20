"""Lines of whole files and of refinements in one queue, for one device or for several."""

from __future__ import annotations

import asyncio
import io
import random
import string
import threading
from typing import Any

import numpy as np

from tests.cloud.conftest import Client, Serve, body_of, post, region, reply_of
from tests.fakes.engines import OneAtATime, painted_reader, slow
from tests.fakes.painted import paint, png
from tests.fakes.rows import page, rows_reader, tiff
from tierocr.shared.document import CLOUD, PageImage
from tierocr.shared.ocr.reader import Reader


def words(count: int, length: int = 5) -> list[str]:
    rng = random.Random(count)
    return ["".join(rng.choices(string.ascii_lowercase, k=length)) for _ in range(count)]


async def texts_of(client: Client, data: bytes) -> list[list[str]]:
    response = await client.post("/v1/ocr", data=io.BytesIO(data))
    assert response.status == 200, await response.text()
    document = await response.json()
    return [[line["text"] for line in p["lines"]] for p in document["pages"]]


async def test_lines_of_files_and_of_refinements_share_batches(serve: Serve) -> None:
    gate, began = threading.Event(), threading.Event()

    def hold() -> None:
        began.set()
        gate.wait(10)

    gate.set()
    reader = rows_reader(hold)
    network: Any = reader.recogniser.engine  # the fake, which keeps the sizes of its batches
    client = await serve(lambda: reader)
    network.batches.clear()
    gate.clear()
    began.clear()
    lines, word = words(3), "other"
    file = asyncio.create_task(texts_of(client, png(page(*lines))))
    await asyncio.to_thread(began.wait, 10)  # the first of them holds the device
    refined = [
        asyncio.create_task(post(client, body_of(region("x", paint(word + "s" * k)))))
        for k in range(3)
    ]
    await asyncio.sleep(0.1)
    gate.set()
    assert await file == [lines]
    for k, answer in enumerate(refined):
        _, results = await reply_of(await answer)
        assert results["x"].text == word + "s" * k
    sizes = [count for count, _ in network.batches]
    assert sum(sizes[:2]) + max(sizes[2:]) >= 5, "what waited went together"


async def test_a_page_reads_as_it_does_alone(serve: Serve) -> None:
    pages = [page(*words(7, length)) for length in (3, 9, 14)]
    alone = rows_reader()
    client = await serve(rows_reader)
    response = await client.post("/v1/ocr", data=io.BytesIO(tiff(pages)))
    document = await response.json()
    for pixels, found in zip(pages, document["pages"], strict=True):
        lines = alone.read(PageImage(pixels=pixels)).page.lines
        assert [line["text"] for line in found["lines"]] == [line.text for line in lines]
        assert [line["score_raw"] for line in found["lines"]] == [n.score_raw for n in lines]


async def test_a_page_of_more_lines_than_the_queue_holds(serve: Serve) -> None:
    lines = words(150)
    small = {"max_queue_crops": 8, "max_batch": 4}
    client = await serve(rows_reader, batching=small, limits={"regions": 8})
    assert await texts_of(client, png(page(*lines))) == [lines]


async def test_a_hairline_across_a_page_is_no_line_of_text(serve: Serve) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    network.batches.clear()
    ruled = np.full((200, 3000, 3), 255, dtype=np.uint8)
    ruled[100:104] = 0
    assert await texts_of(client, png(ruled)) == [[]]
    assert not network.batches


async def test_each_worker_has_a_network_of_its_own(serve: Serve) -> None:
    made = [painted_reader(slow(0.01)) for _ in range(3)]
    client = await serve(lambda: [reader for reader, _ in made])
    for _, network in made:
        network.device = OneAtATime()
        network.batches.clear()
    texts = words(60)
    answers = await asyncio.gather(
        *(post(client, body_of(region("x", paint(text)))) for text in texts),
        *(
            client.post("/v1/ocr", data=png(np.pad(paint("page"), _PAD, constant_values=255)))
            for _ in range(2)
        ),
    )
    for text, answer in zip(texts, answers, strict=False):
        _, results = await reply_of(answer)
        assert results["x"].text == text
    assert all(answer.status == 200 for answer in answers)
    threads = [network.device.threads for _, network in made]
    assert all(len(own) == 1 for own in threads) and len(set.union(*threads)) == 3
    assert all(network.batches for _, network in made)


async def test_a_line_that_breaks_the_network_costs_its_own_file_only(serve: Serve) -> None:
    client = await serve(lambda: painted_reader(slow(0.02))[0])
    good = [asyncio.create_task(post(client, body_of(region("x", paint("fine"))))) for _ in "abc"]
    bad = await client.post("/v1/ocr", data=png(np.pad(paint("a!b"), _PAD, constant_values=255)))
    assert bad.status == 500
    for answer in good:
        _, results = await reply_of(await answer)
        assert results["x"].text == "fine"


async def test_lines_of_a_file_let_urgent_regions_go_first(serve: Serve) -> None:
    reader = rows_reader(slow(0.02))
    client = await serve(lambda: reader, batching={"max_batch": 4})
    file = asyncio.create_task(texts_of(client, png(page(*words(100)))))
    await asyncio.sleep(0.2)
    _, results = await reply_of(await post(client, body_of(region("x", paint("quick")))))
    assert results["x"].text == "quick" and not file.done()
    assert len((await file)[0]) == 100


async def test_capabilities_name_every_worker(serve: Serve) -> None:
    def two() -> list[Reader]:
        readers = [painted_reader()[0] for _ in range(2)]
        assert all(reader.source == CLOUD for reader in readers)
        return readers

    client = await serve(two)
    shown = await (await client.get("/v1/capabilities")).json()
    assert shown["workers"] == ["fake 1.0 CPU"] * 2


_PAD = ((100, 100), (90, 90), (0, 0))
