"""`POST /v1/ocr`: whole files over fake networks, through HTTP."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from PIL import Image

from tests.cloud.conftest import Client, Serve, body_of, post, problem_of, region, reply_of
from tests.fakes.engines import painted_reader
from tests.fakes.painted import paint, png
from tierocr.cloud.tokens import add_token
from tierocr.shared.document import Pixels
from tierocr.shared.export import FORMATS, PICTURE_FORMATS


def page(text: str) -> Pixels:
    return np.pad(paint(text), ((100, 100), (90, 90), (0, 0)), constant_values=255)


def tiff(*texts: str) -> bytes:
    pages = [Image.fromarray(np.ascontiguousarray(page(t)[:, :, ::-1])) for t in texts]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    return out.getvalue()


async def document_of(client: Client, **request: Any) -> dict[str, Any]:
    response = await client.post("/v1/ocr", **request)
    assert response.status == 200, await response.text()
    document: dict[str, Any] = await response.json()
    assert document["schema"] == "tierocr.document/1"
    return document


def texts_of(document: dict[str, Any]) -> list[list[str]]:
    return [[line["text"] for line in p["lines"]] for p in document["pages"]]


async def test_a_raw_body_of_any_content_type(serve: Serve) -> None:
    client = await serve()
    data = png(page("bonus"))
    for content_type in ("image/png", "application/octet-stream", "application/pdf"):
        document = await document_of(client, data=data, headers={"Content-Type": content_type})
        assert texts_of(document) == [["bonus"]]
    assert document["status"] == "final"
    assert document["engine"]["pack"] == "painted"
    assert document["pages"][0]["lines"][0]["source"] == "cloud"


async def test_the_field_file_of_a_form(serve: Serve) -> None:
    client = await serve()
    form = aiohttp.FormData()
    form.add_field("comment", "not this one")
    form.add_field("file", png(page("phone")), filename="scan.png", content_type="image/png")
    document = await document_of(client, data=form)
    assert texts_of(document) == [["phone"]]
    assert document["input"]["name"] == "scan.png"


async def test_a_form_without_the_field_is_400(serve: Serve) -> None:
    client = await serve()
    form = aiohttp.FormData()
    form.add_field("other", png(page("phone")), filename="scan.png")
    response = await client.post("/v1/ocr", data=form)
    assert response.status == 400
    assert "file" in (await problem_of(response))["detail"]


async def test_a_form_that_is_none_is_400(serve: Serve) -> None:
    client = await serve()
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        response = await client.post("/v1/ocr", data=b"not a form", headers={"Content-Type": kind})
        assert response.status == 400
        assert (await problem_of(response))["code"] == "bad_request"


async def test_several_pages(serve: Serve) -> None:
    client = await serve()
    document = await document_of(client, data=tiff("dough", "bread", "sauce"))
    assert texts_of(document) == [["dough"], ["bread"], ["sauce"]]


async def test_a_file_that_fails_has_the_status_of_its_error(serve: Serve) -> None:
    client = await serve(limits={"file_pages": 2})
    for data, status, code in (
        (b"", 400, "bad_request"),
        (b"plain text", 415, "unsupported_format"),
        (b"\x00\x01\x02\x03", 422, "bad_image"),
        (tiff("one", "two", "three"), 413, "too_large"),
    ):
        response = await client.post("/v1/ocr", data=data)
        assert response.status == status
        assert (await problem_of(response))["code"] == code


async def test_an_engine_that_fails_is_500_and_the_next_file_is_read(serve: Serve) -> None:
    client = await serve()
    response = await client.post("/v1/ocr", data=png(page("a!b")))
    assert response.status == 500
    assert (await problem_of(response))["code"] == "internal"
    assert texts_of(await document_of(client, data=png(page("onehand")))) == [["onehand"]]


@pytest.mark.parametrize("name", FORMATS)
async def test_every_export_format(serve: Serve, name: str) -> None:
    client = await serve()
    response = await client.post(f"/v1/ocr?format={name}", data=png(page("bonus")))
    assert response.status == 200 and response.content_type == FORMATS[name].media_type
    assert "bonus" in await response.text()


@pytest.mark.parametrize("name", PICTURE_FORMATS)
async def test_formats_that_need_the_pages_pictures(serve: Serve, name: str) -> None:
    client = await serve()
    response = await client.post(f"/v1/ocr?format={name}", data=tiff("ab", "cd"))
    assert response.status == 200
    assert response.content_type == PICTURE_FORMATS[name].media_type
    assert len(await response.read()) > 100


async def test_a_file_that_is_sent_again_is_not_read_again(serve: Serve) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    network.batches.clear()
    key, data = {"Idempotency-Key": "one"}, png(page("bonus"))
    texts = [
        await (await client.post("/v1/ocr?format=text", data=data, headers=key)).text()
        for _ in range(3)
    ]
    assert len(set(texts)) == 1 and "bonus" in texts[0]
    assert len(network.batches) == 1
    for path, other in (("/v1/ocr?format=text", png(page("other"))), ("/v1/ocr", data)):
        response = await client.post(path, data=other, headers=key)
        assert response.status == 422 and (await problem_of(response))["code"] == "key_reused"


async def test_an_unknown_format_is_told_before_anything_is_read(serve: Serve) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    network.batches.clear()
    response = await client.post("/v1/ocr?format=docx", data=png(page("bonus")))
    assert response.status == 400 and not network.batches
    assert "markdown" in (await problem_of(response))["detail"]


async def test_a_deadline_gives_the_rest_of_a_file_up(serve: Serve) -> None:
    gate = threading.Event()
    gate.set()
    reader, network = painted_reader(lambda: (gate.wait(10), None)[1])
    client = await serve(lambda: reader)
    gate.clear()
    network.batches.clear()
    many = tiff(*["page"] * 20)
    response = await client.post("/v1/ocr", data=io.BytesIO(many), headers={"X-Deadline-Ms": "200"})
    assert response.status == 504
    gate.set()
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"
    assert len(network.batches) <= 4  # the page that was being read, and the crop


async def test_crops_are_read_between_the_pages_of_a_long_file(serve: Serve) -> None:
    began = threading.Event()

    def slowly() -> None:
        began.set()
        time.sleep(0.05)

    reader, _ = painted_reader(slowly)
    client = await serve(lambda: reader)
    began.clear()
    file = asyncio.create_task(client.post("/v1/ocr", data=io.BytesIO(tiff(*["page"] * 10))))
    await asyncio.to_thread(began.wait, 5)
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"
    assert not file.done()
    assert (await file).status == 200


async def test_a_device_whose_file_never_comes_keeps_no_other_out(
    serve: Serve, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.jsonl"
    slow_one, other = (
        {"Authorization": f"Bearer {add_token(tokens, name, 'now')}"} for name in ("slow", "other")
    )
    client = await serve(limits={"files": 1}, auth={"tokens_file": str(tokens)})
    over = asyncio.Event()

    async def drip() -> AsyncIterator[bytes]:
        yield b"\x89PNG"
        await over.wait()

    dripping = asyncio.create_task(client.post("/v1/ocr", data=drip(), headers=slow_one))
    await asyncio.sleep(0.1)
    data = png(page("one"))
    assert (await client.post("/v1/ocr", data=data, headers=slow_one)).status == 503
    assert (await client.post("/v1/ocr", data=data, headers=other)).status == 200
    over.set()
    assert (await dripping).status in (400, 422)


async def test_more_files_than_places_are_503(serve: Serve) -> None:
    gate = threading.Event()
    gate.set()
    reader, _ = painted_reader(lambda: (gate.wait(10), None)[1])
    client = await serve(lambda: reader, limits={"files": 1})
    gate.clear()
    first = asyncio.create_task(client.post("/v1/ocr", data=png(page("one"))))
    await asyncio.sleep(0.1)
    refused = await client.post("/v1/ocr", data=png(page("two")))
    gate.set()
    assert refused.status == 503 and "Retry-After" in refused.headers
    assert (await first).status == 200
