"""Sending again, and sending too much: Idempotency-Key and a device's own quota, through HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.cloud.conftest import Client, Serve, problem_of, region, reply_of
from tests.fakes.engines import painted_reader, slow
from tests.fakes.painted import paint, png
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    RefineRequest,
    RegionImage,
    pack_request,
)


def body(request_id: str, *regions: RegionImage) -> bytes:
    page = PageRef(id="p1", width=100, height=100)
    return pack_request(
        RefineRequest(request_id=request_id, device="kiosk", page=page, regions=regions)
    )


async def send(client: Client, content: bytes, key: str | None = None) -> Any:
    headers = {"Content-Type": CONTENT_TYPE} | ({"Idempotency-Key": key} if key else {})
    return await client.post("/v1/refine", data=content, headers=headers)


async def test_a_resend_is_answered_without_work_under_its_own_request_id(serve: Serve) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    crop = region("x", paint("once"))
    _, first = await reply_of(await send(client, body("r1", crop), "key"))
    work = len(network.batches)
    again, second = await reply_of(await send(client, body("r2", crop), "key"))
    assert again.request_id == "r2"
    assert second == first and first["x"].text == "once"
    assert len(network.batches) == work


async def test_a_resend_while_the_first_is_under_way_waits_for_it(serve: Serve) -> None:
    reader, network = painted_reader(slow(0.2))
    client = await serve(lambda: reader)
    before = len(network.batches)
    crop = region("x", paint("once"))
    answers = await asyncio.gather(*(send(client, body(f"r{k}", crop), "key") for k in range(4)))
    replies = [await reply_of(answer) for answer in answers]
    assert [reply.request_id for reply, _ in replies] == ["r0", "r1", "r2", "r3"]
    assert all(results["x"].text == "once" for _, results in replies)
    assert len(network.batches) - before <= 2  # the crop, and once more without its margin


async def test_the_same_key_with_other_content_is_refused(serve: Serve) -> None:
    client = await serve()
    await reply_of(await send(client, body("r1", region("x", paint("one"))), "key"))
    refused = await send(client, body("r2", region("x", paint("two"))), "key")
    assert refused.status == 422 and (await problem_of(refused))["code"] == "key_reused"


async def test_without_a_key_the_work_is_done_again(serve: Serve) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    crop = region("x", paint("twice"))
    await reply_of(await send(client, body("r1", crop)))
    work = len(network.batches)
    await reply_of(await send(client, body("r1", crop)))
    assert len(network.batches) > work


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256])
async def test_a_key_that_is_none_is_refused(serve: Serve, key: str) -> None:
    client = await serve()
    response = await client.post(
        "/v1/refine",
        data=body("r1"),
        headers={"Content-Type": CONTENT_TYPE, "Idempotency-Key": key},
    )
    assert response.status == 400 and (await problem_of(response))["code"] == "bad_request"


async def test_a_device_over_its_requests_is_told_when_to_come_again(serve: Serve) -> None:
    client = await serve(quotas={"requests_per_second": 0.1, "requests_burst": 2})
    for _ in range(2):
        await reply_of(await send(client, body("r1")))
    refused = await send(client, body("r1"))
    assert refused.status == 429 and (await problem_of(refused))["code"] == "rate_limited"
    assert 5 <= int(refused.headers["Retry-After"]) <= 10


async def test_whole_files_count_as_requests_too(serve: Serve) -> None:
    client = await serve(quotas={"requests_per_second": 0.1, "requests_burst": 1})
    await client.post("/v1/ocr", data=png(paint("ab")))
    refused = await client.post("/v1/ocr", data=png(paint("ab")))
    assert refused.status == 429 and (await problem_of(refused))["code"] == "rate_limited"


async def test_a_device_over_its_regions_is_refused_even_with_a_kept_answer(serve: Serve) -> None:
    client = await serve(quotas={"regions_per_second": 0.1, "regions_burst": 3})
    crops = [region(str(k), paint("a")) for k in range(2)]
    await reply_of(await send(client, body("r1", *crops), "key"))
    refused = await send(client, body("r2", *crops), "key")
    assert refused.status == 429 and (await problem_of(refused))["code"] == "rate_limited"
