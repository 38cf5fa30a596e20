"""`POST /v1/refine` over fake networks, through HTTP."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest

from tests.cloud.conftest import Client, Serve, body_of, post, problem_of, region, reply_of
from tests.fakes.engines import UPRIGHT, painted_reader, slow
from tests.fakes.painted import paint, png
from tierocr.cloud.admission import Busy
from tierocr.cloud.app import SERVICE
from tierocr.cloud.ways import MOST_COLUMNS
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import RefineReply, WireLimits, unpack_request


async def test_every_region_is_answered_under_its_id(serve: Serve) -> None:
    client = await serve()
    words = ["a", "tier", "ocr", "zz", "thelongestlineofthemall"]
    response = await post(client, body_of(*(region(w, paint(w)) for w in words)))
    reply, results = await reply_of(response)
    assert {w: results[w].text for w in words} == {w: w for w in words}
    assert reply.request_id == "r1"
    assert reply.engine.pack == "painted" and reply.engine.runtime == "fake 1.0 CPU"
    assert set(reply.timings) == {"queue_ms", "decode_ms", "infer_ms", "post_ms"}
    assert all(value >= 0 for value in reply.timings.values())


async def test_characters_stand_where_they_were_seen(serve: Serve) -> None:
    client = await serve()
    crop = paint("abc")
    _, results = await reply_of(await post(client, body_of(region("x", crop))))
    chars = results["x"].chars
    assert "".join(c.text for c in chars) == "abc"
    for i, char in enumerate(chars):
        middle = (8 + 24 * i + 8) / crop.shape[1]
        assert (char.start + char.end) / 2 == pytest.approx(middle, abs=0.03)
        assert char.score_raw == pytest.approx(UPRIGHT)
    assert results["x"].score_raw == results["x"].confidence == pytest.approx(UPRIGHT)
    assert not results["x"].calibrated


async def test_a_blank_crop_reads_as_nothing(serve: Serve) -> None:
    client = await serve()
    _, results = await reply_of(await post(client, body_of(region("x", paint("")))))
    assert results["x"].error is None
    assert (results["x"].text, results["x"].score_raw, results["x"].chars) == ("", 0.0, ())


async def test_a_request_without_regions_is_answered(serve: Serve) -> None:
    client = await serve()
    _, results = await reply_of(await post(client, body_of()))
    assert results == {}


@pytest.mark.parametrize("turns", [1, -1])
async def test_a_line_that_runs_down_or_up_is_read(serve: Serve, turns: int) -> None:
    client = await serve()
    crop = np.ascontiguousarray(np.rot90(paint("downwards"), turns))
    _, results = await reply_of(await post(client, body_of(region("x", crop))))
    assert results["x"].text == "downwards"


async def test_one_bad_region_costs_no_other(serve: Serve) -> None:
    client = await serve()
    whole = png(paint("whole"))
    response = await post(
        client,
        body_of(
            region("good", whole),
            region("noise", b"\x00\x01 no picture"),
            region("cut", whole[: len(whole) // 2]),
            region("pdf", b"%PDF-1.7\n"),
            region("poison", paint("ab!cd")),
            region("last", paint("lasts")),
        ),
    )
    _, results = await reply_of(response)
    errors = {name: r.error.code for name, r in results.items() if r.error}
    assert errors == {
        "noise": "bad_image",
        "cut": "bad_image",
        "pdf": "unsupported_format",
        "poison": "internal",
    }
    assert results["good"].text == "whole" and results["last"].text == "lasts"


async def test_a_crop_over_the_limits_is_refused_before_it_is_decoded(serve: Serve) -> None:
    client = await serve(limits={"region_side": 256})
    response = await post(
        client, body_of(region("wide", paint("a" * 20)), region("good", paint("abc")))
    )
    _, results = await reply_of(response)
    assert results["wide"].error is not None and results["wide"].error.code == "too_large"
    assert results["good"].text == "abc"


@pytest.mark.parametrize("shape", [(1, 16_000), (16_000, 1), (4, 3_000)])
async def test_a_crop_that_is_no_line_never_reaches_the_device(
    serve: Serve, shape: tuple[int, int]
) -> None:
    reader, network = painted_reader()
    client = await serve(lambda: reader)
    network.batches.clear()
    long = np.zeros((*shape, 3), dtype=np.uint8)
    response = await post(client, body_of(region("long", long), region("good", paint("abc"))))
    _, results = await reply_of(response)
    assert results["long"].error is not None and results["long"].error.code == "too_large"
    assert results["good"].text == "abc"
    assert max(width for _, width in network.batches) <= MOST_COLUMNS


async def test_what_shares_a_batch_does_not_change_a_text(serve: Serve) -> None:
    reader, network = painted_reader(slow(0.02))
    client = await serve(lambda: reader)
    words = ["alone", "other", "lines", "march", "bytes", "along", "again"]
    alone = {}
    for word in words:
        _, results = await reply_of(await post(client, body_of(region(word, paint(word)))))
        alone[word] = results[word]
    network.batches.clear()
    _, together = await reply_of(await post(client, body_of(*(region(w, paint(w)) for w in words))))
    assert together == alone
    assert max(count for count, _ in network.batches) > 1


async def test_all_work_is_done_in_one_thread(serve: Serve) -> None:
    reader, network = painted_reader(slow(0.005))
    client = await serve(lambda: reader)
    network.device.threads.clear()  # of those that opened and warmed it
    page = png(np.pad(paint("page"), ((80, 80), (80, 80), (0, 0)), constant_values=255))
    answers = await asyncio.gather(
        *(post(client, body_of(region("x", paint("many")))) for _ in range(10)),
        *(post(client, page, "/v1/ocr") for _ in range(2)),
    )
    assert [a.status for a in answers] == [200] * 12
    assert len(network.device.threads) == 1
    assert threading.get_ident() not in network.device.threads


class TestDeadlines:
    async def test_one_that_has_passed_is_504(self, serve: Serve) -> None:
        client = await serve()
        for text in ("0", "-5"):
            response = await post(client, body_of(region("x", paint("a"))), X_Deadline_Ms=text)
            assert response.status == 504
            assert (await problem_of(response))["code"] == "deadline_exceeded"

    @pytest.mark.parametrize("text", ["soon", "1.5", "", "1e3", "--5", "٣", "9" * 30])
    async def test_one_that_is_no_number_is_400(self, serve: Serve, text: str) -> None:
        client = await serve()
        response = await client.post(
            "/v1/refine",
            data=body_of(),
            headers={"Content-Type": "application/msgpack", "X-Deadline-Ms": text},
        )
        assert response.status == 400

    async def test_a_slow_device_cannot_hold_the_answer_back(self, serve: Serve) -> None:
        gate, reader = _gated()
        client = await serve(lambda: reader)
        gate.clear()
        loop = asyncio.get_running_loop()
        began = loop.time()
        response = await post(client, body_of(region("x", paint("ab"))), X_Deadline_Ms="300")
        assert response.status == 504
        assert loop.time() - began < 2
        gate.set()
        assert "tierocr_deadline_missed_total" in await (await client.get("/metrics")).text()
        await _reads(client)

    async def test_what_was_read_in_time_is_answered(self, serve: Serve) -> None:
        held = threading.Event()
        reader, network = painted_reader()
        client = await serve(lambda: reader, batching={"max_batch": 1})
        network.batches.clear()

        def block_second_call() -> None:
            if len(network.batches) > 1:
                held.wait(10)

        network.before = block_second_call
        other_bucket = region("second", paint("abcdefgh"))
        try:
            response = await post(
                client, body_of(region("first", paint("a")), other_bucket), X_Deadline_Ms="500"
            )
            _, results = await reply_of(response)
        finally:
            held.set()
        texts = [r.text for r in results.values() if r.error is None]
        codes = [r.error.code for r in results.values() if r.error is not None]
        assert len(texts) == 1 and texts[0] in ("a", "abcdefgh")
        assert codes == ["deadline_exceeded"]

    async def test_a_queue_longer_than_the_deadline_is_told_at_once(self, serve: Serve) -> None:
        gate, reader = _gated()
        client = await serve(lambda: reader)
        gate.clear()
        first = asyncio.create_task(post(client, body_of(region("x", paint("ab")))))
        await asyncio.sleep(0.4)
        gate.set()
        assert (await first).status == 200  # from now on a crop is known to take long
        gate.clear()
        second = asyncio.create_task(post(client, body_of(region("x", paint("ab")))))
        await asyncio.sleep(0.05)
        response = await post(client, body_of(region("x", paint("ab"))), X_Deadline_Ms="250")
        gate.set()
        assert response.status == 504
        assert "longer than the deadline" in (await problem_of(response))["detail"]
        assert (await second).status == 200


class TestAdmission:
    async def test_a_full_queue_is_503_with_retry_after(self, serve: Serve) -> None:
        gate, reader = _gated()
        client = await serve(lambda: reader, batching={"max_queue_crops": 4}, limits={"regions": 4})
        gate.clear()
        many = body_of(*(region(str(i), paint("ab")) for i in range(4)))
        first = asyncio.create_task(post(client, many))
        await asyncio.sleep(0.1)
        refused = await post(client, body_of(region("x", paint("ab"))))
        gate.set()
        assert refused.status == 503
        assert int(refused.headers["Retry-After"]) >= 1
        assert (await problem_of(refused))["code"] == "over_capacity"
        assert (await first).status == 200
        await _reads(client)
        metrics = await (await client.get("/metrics")).text()
        assert 'tierocr_shed_total{reason="over_capacity"} 1.0' in metrics

    async def test_a_queue_that_would_take_too_long_is_503(self, serve: Serve) -> None:
        reader, _ = painted_reader(slow(0.1))
        client = await serve(lambda: reader, batching={"max_batch": 1, "max_queue_ms": 500})
        await _reads(client)  # the pace is measured: a tenth of a second a crop
        many = body_of(*(region(str(i), paint("ab" * i)) for i in range(1, 12)))
        first = asyncio.create_task(post(client, many))
        await asyncio.sleep(0.15)
        refused = await post(client, body_of(region("x", paint("ab"))))
        assert refused.status == 503
        assert "queue is" in (await problem_of(refused))["detail"]
        assert 1 <= int(refused.headers["Retry-After"]) <= 4
        assert (await first).status == 200
        await _reads(client)

    async def test_a_device_that_sends_a_flood_keeps_no_other_out(self, serve: Serve) -> None:
        reader, _ = painted_reader(slow(0.05))
        small = {"max_batch": 1, "max_queue_ms": 500, "max_padded_width": 640}
        client = await serve(lambda: reader, batching=small)
        await _reads(client)  # the pace is measured
        service = client.app[SERVICE]

        def ask(owner: str, count: int) -> asyncio.Task[RefineReply]:
            regions = [region(f"{owner}{i}", paint("ab" * (i + 1))) for i in range(count)]
            request = unpack_request(body_of(*regions), WireLimits())
            return asyncio.create_task(service.refine(request, time.monotonic() + 30, owner))

        flood = ask("flood", 30)
        await asyncio.sleep(0.2)
        with pytest.raises(Busy):
            await ask("flood", 1)
        (result,) = (await ask("other", 1)).results
        assert result.text == "ab" and not flood.done()
        assert len((await flood).results) == 30

    async def test_a_client_that_hangs_up_frees_its_place(self, serve: Serve) -> None:
        gate, reader = _gated()
        client = await serve(lambda: reader, batching={"max_queue_crops": 2}, limits={"regions": 2})
        gate.clear()
        gone = asyncio.create_task(
            post(client, body_of(region("a", paint("ab")), region("b", paint("ab"))))
        )
        await asyncio.sleep(0.1)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.sleep(0.1)
        again = asyncio.create_task(post(client, body_of(region("x", paint("ab")))))
        await asyncio.sleep(0.05)
        gate.set()
        assert (await again).status == 200

    async def test_too_many_regions_are_413(self, serve: Serve) -> None:
        client = await serve(limits={"regions": 2})
        response = await post(client, body_of(*(region(str(i), paint("a")) for i in range(3))))
        assert response.status == 413


def _gated() -> tuple[threading.Event, Reader]:
    """A reader that stands still while the event is cleared, though never for ever."""
    gate = threading.Event()
    gate.set()
    reader, _ = painted_reader(lambda: (gate.wait(10), None)[1])
    return gate, reader


async def _reads(client: Client) -> None:
    _, results = await reply_of(await post(client, body_of(region("x", paint("fine")))))
    assert results["x"].text == "fine"
