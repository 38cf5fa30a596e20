"""Decoder processes behind the routes: hostile files cost themselves, and nobody else anything."""

from __future__ import annotations

import io
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from PIL import Image

from tests.cloud.conftest import Client, Serve, body_of, post, problem_of, region, reply_of
from tests.cloud.test_ocr import document_of, page, texts_of
from tests.fakes import decoder
from tests.fakes.painted import paint, png
from tierocr.cloud.decoding import SUPPORTED

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="needs shared memory without a name")


def tiff(*pages: str | int) -> io.BytesIO:
    """Pages with a word, or of a width at which the decoder misbehaves."""
    images = [
        Image.new("RGB", (p, 20), "white")
        if isinstance(p, int)
        else Image.fromarray(np.ascontiguousarray(page(p)[:, :, ::-1]))
        for p in pages
    ]
    out = io.BytesIO()
    images[0].save(out, "TIFF", save_all=True, append_images=images[1:])
    out.seek(0)
    return out


async def lost(client: Client) -> set[str]:
    text = await (await client.get("/metrics")).text()
    return {line for line in text.splitlines() if line.startswith("tierocr_decoders_lost_total")}


async def test_a_hostile_page_costs_itself(serve: Serve, tmp_path: Path) -> None:
    client = await serve(decoder=decoder.command(tmp_path / "log"))
    document = await document_of(client, data=tiff("one", decoder.IS_KILLED, "two"))
    assert texts_of(document) == [["one"], [], ["two"]]
    assert document["pages"][1]["error"]["code"] == "internal"
    assert texts_of(await document_of(client, data=png(page("three")))) == [["three"]]
    assert await lost(client) == {'tierocr_decoders_lost_total{reason="killed"} 1.0'}
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"
    assert (await client.get("/readyz")).status == 200


async def test_a_page_that_hangs_costs_its_own_file_only(serve: Serve, tmp_path: Path) -> None:
    settings = {"page_seconds": 1}
    client = await serve(decoder=decoder.command(tmp_path / "log"), decoding=settings)
    await document_of(client, data=png(page("warm")))
    response = await client.post("/v1/ocr", data=tiff(decoder.HANGS))
    assert response.status == 413
    assert "within 1 seconds" in (await problem_of(response))["detail"]
    assert texts_of(await document_of(client, data=png(page("three")))) == [["three"]]


async def test_a_job_goes_on_after_a_hostile_page(serve: Serve, tmp_path: Path) -> None:
    client = await serve(
        decoder=decoder.command(tmp_path / "log"), jobs={"folder": str(tmp_path / "jobs")}
    )
    form = aiohttp.FormData()
    for file in (tiff("one", decoder.CRASHES, "two"), tiff("three")):
        form.add_field("files", file, filename="scan.tif")
    response = await client.post("/v1/jobs", data=form)
    job = await response.json()
    async with client.get(job["events"]) as stream:
        await stream.read()
    documents = [await (await client.get(file["result"])).json() for file in job["files"]]
    assert [texts_of(d) for d in documents] == [[["one"], [], ["two"]], [["three"]]]
    assert documents[0]["pages"][1]["error"]["code"] == "bad_image"


async def test_decoding_in_threads_where_processes_are_not_wanted(serve: Serve) -> None:
    client = await serve(decoder=("/does/not/exist",), decoding={"processes": False})
    assert texts_of(await document_of(client, data=tiff("one", "two"))) == [["one"], ["two"]]


async def test_a_decoder_that_cannot_be_started_is_500(serve: Serve) -> None:
    client = await serve(decoder=("/does/not/exist",))
    response = await client.post("/v1/ocr", data=png(page("one")))
    assert response.status == 500 and (await problem_of(response))["code"] == "internal"
    assert (await client.get("/readyz")).status == 200
