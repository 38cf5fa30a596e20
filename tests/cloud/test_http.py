"""What holds for every route: tokens, errors, limits, health, metrics, request ids."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import threading
import zlib
from pathlib import Path

import pytest

from tests.cloud.conftest import Serve, body_of, post, problem_of, region, reply_of
from tests.fakes.engines import painted_reader
from tests.fakes.painted import paint
from tierocr.cloud.app import SERVICE, make_app
from tierocr.cloud.logs import JsonFormatter
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tokens import add_token, revoke_token
from tierocr.shared.errors import TierocrError
from tierocr.shared.ocr.reader import Reader

ONE = body_of(region("x", paint("ab")))


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


class TestTokens:
    async def test_only_a_token_in_force_opens_the_routes(self, serve: Serve, tokens: Path) -> None:
        secret = add_token(tokens, "kiosk", "now")
        client = await serve(auth={"tokens_file": str(tokens)})
        for method, url in (
            ("POST", "/v1/refine"),
            ("POST", "/v1/ocr"),
            ("GET", "/v1/capabilities"),
        ):
            wrong = ("", "Bearer", "Bearer wrong", f"Basic {secret}", f"Bearer {secret}x")
            for header in (*wrong, "Bearer t\udcefer", "Bearer Ω"):  # bytes that are no text, too
                response = await client.request(method, url, headers={"Authorization": header})
                assert response.status == 401
                assert response.headers["WWW-Authenticate"].startswith("Bearer")
                assert (await problem_of(response))["code"] == "unauthorized"
        assert (await post(client, ONE, Authorization=f"Bearer {secret}")).status == 200
        assert (await post(client, ONE, Authorization=f"bearer  {secret}")).status == 200

    async def test_adding_and_revoking_counts_at_once(self, serve: Serve, tokens: Path) -> None:
        secret = add_token(tokens, "kiosk", "now")
        client = await serve(auth={"tokens_file": str(tokens)})
        other = add_token(tokens, "scanner", "now")
        assert (await post(client, ONE, Authorization=f"Bearer {other}")).status == 200
        revoke_token(tokens, "kiosk", "now")
        assert (await post(client, ONE, Authorization=f"Bearer {secret}")).status == 401
        assert (await post(client, ONE, Authorization=f"Bearer {other}")).status == 200

    async def test_a_wrong_token_is_refused_even_where_none_is_needed(
        self, serve: Serve, tokens: Path
    ) -> None:
        add_token(tokens, "kiosk", "now")
        client = await serve(auth={"tokens_file": str(tokens), "allow_anonymous": True})
        assert (await post(client, ONE)).status == 200
        assert (await post(client, ONE, Authorization="Bearer wrong")).status == 401

    @pytest.mark.parametrize(
        ("access", "status"), [("token", 401), ("loopback", 200), ("anyone", 200)]
    )
    async def test_who_may_read_metrics(
        self, serve: Serve, tokens: Path, access: str, status: int
    ) -> None:
        add_token(tokens, "kiosk", "now")
        client = await serve(auth={"tokens_file": str(tokens)}, metrics={"access": access})
        assert (await client.get("/metrics")).status == status
        forwarded = await client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
        assert forwarded.status == status

    def test_a_service_that_nobody_chose_to_open_does_not_start(self, tmp_path: Path) -> None:
        with pytest.raises(TierocrError, match="allow_anonymous") as caught:
            make_app(CloudSettings())
        assert caught.value.code == "config_invalid"
        missing = CloudSettings.model_validate({"auth": {"tokens_file": str(tmp_path / "none")}})
        with pytest.raises(TierocrError, match="token add") as caught:
            make_app(missing)
        assert caught.value.code == "config_invalid"


class TestProblems:
    async def test_unknown_paths_and_methods(self, serve: Serve) -> None:
        client = await serve()
        missing = await client.get("/nothing/here")
        assert missing.status == 404
        assert (await problem_of(missing))["code"] == "not_found"
        wrong = await client.get("/v1/refine")
        assert wrong.status == 405
        assert wrong.headers["Allow"] == "POST"
        assert (await problem_of(wrong))["code"] == "bad_request"

    async def test_another_content_type_is_415(self, serve: Serve) -> None:
        client = await serve()
        response = await client.post("/v1/refine", json={})
        assert response.status == 415
        assert (await problem_of(response))["code"] == "unsupported_format"

    @pytest.mark.parametrize("body", [b"", b"\xc1", b"\x93\x01\x02\x03", ONE[:-3], ONE + b"x"])
    async def test_a_malformed_message_is_400(self, serve: Serve, body: bytes) -> None:
        client = await serve()
        response = await post(client, body)
        assert response.status == 400
        assert (await problem_of(response))["code"] == "bad_request"

    async def test_a_body_that_is_not_what_its_encoding_says_is_400(self, serve: Serve) -> None:
        client = await serve()
        response = await post(client, b"this is no gzip", Content_Encoding="gzip")
        assert response.status == 400
        assert (await problem_of(response))["code"] == "bad_request"

    async def test_what_breaks_inside_says_nothing_of_itself(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        client = await serve()

        async def broken(*args: object) -> None:
            raise RuntimeError("secret path /etc/tierocr")

        monkeypatch.setattr("tierocr.cloud.service.Service.refine", broken)
        response = await post(client, ONE)
        assert response.status == 500
        assert "secret" not in await response.text()
        assert (await problem_of(response))["code"] == "internal"
        assert "secret path" in caplog.text


class TestBodies:
    LIMITS = {"refine_body_bytes": 2048, "file_body_bytes": 4096}

    @pytest.mark.parametrize("url", ["/v1/refine", "/v1/ocr"])
    @pytest.mark.parametrize("chunked", [False, True])
    async def test_too_large_is_413_and_the_client_goes_on(
        self, serve: Serve, url: str, chunked: bool
    ) -> None:
        client = await serve(limits=self.LIMITS)
        size = 3 << 20

        async def stream() -> object:
            for _ in range(size >> 16):
                yield b"x" * (1 << 16)

        for _ in range(2):
            response = await client.post(
                url,
                data=stream() if chunked else io.BytesIO(b"x" * size),
                headers={"Content-Type": "application/msgpack"},
            )
            assert response.status == 413
            assert (await problem_of(response))["code"] == "too_large"
            _, results = await reply_of(await post(client, ONE))
            assert results["x"].text == "ab"

    async def test_a_small_body_that_unfolds_is_413(self, serve: Serve) -> None:
        client = await serve(limits=self.LIMITS)
        bomb = zlib.compress(b"\0" * (1 << 20))
        assert len(bomb) < 2048
        response = await post(client, bomb, Content_Encoding="deflate")
        assert response.status == 413

    async def test_more_than_the_usual_mebibyte_is_taken(self, serve: Serve) -> None:
        client = await serve()
        noise = region("big", b"\x89PNG\r\n\x1a\n" + b"\0" * (3 << 20))
        _, results = await reply_of(
            await post(client, io.BytesIO(body_of(noise, region("x", paint("ok")))))
        )
        assert results["x"].text == "ok"
        assert results["big"].error is not None

    async def test_who_is_turned_away_is_not_asked_for_the_body(self, serve: Serve) -> None:
        client = await serve(limits=self.LIMITS)
        head = (
            "POST /v1/refine HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
            "Content-Length: {}\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = await _talk(client.port, head.format(1 << 30).encode())
        assert answer.startswith(b"HTTP/1.1 413") and b"Connection: close" in answer
        answer = await _talk(client.port, head.format(len(ONE)).encode(), ONE)
        assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")

    async def test_a_body_that_does_not_come_meets_the_deadline(self, serve: Serve) -> None:
        client = await serve()
        head = (
            b"POST /v1/refine HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
            b"Content-Length: 500\r\nX-Deadline-Ms: 200\r\n\r\npart"
        )
        assert (await _talk(client.port, head)).startswith(b"HTTP/1.1 504")


class TestHealth:
    async def test_alive_before_ready(self, serve: Serve) -> None:
        gate = threading.Event()

        def load() -> Reader:
            gate.wait(10)
            return painted_reader()[0]

        client = await serve(load, wait=False)
        try:
            for url in ("/healthz", "/v2/health/live"):
                assert (await client.get(url)).status == 200
            for url in ("/readyz", "/v2/health/ready", "/v1/capabilities"):
                response = await client.get(url)
                assert response.status == 503
                assert "Retry-After" in response.headers
                assert (await problem_of(response))["code"] == "unavailable"
            assert (await post(client, ONE)).status == 503
        finally:
            gate.set()
        await client.server.app[SERVICE].loaded()  # type: ignore[attr-defined]
        for url in ("/readyz", "/v2/health/ready"):
            assert (await client.get(url)).status == 200
        assert (await post(client, ONE)).status == 200

    async def test_a_model_that_does_not_load_is_never_ready(self, serve: Serve) -> None:
        def load() -> Reader:
            raise TierocrError("device_unavailable", "no such device")

        client = await serve(load, wait=False)
        with pytest.raises(TierocrError, match="no such device"):
            await client.server.app[SERVICE].loaded()  # type: ignore[attr-defined]
        assert (await client.get("/healthz")).status == 200
        assert (await client.get("/readyz")).status == 503

    async def test_draining_lets_nothing_new_in_and_finishes_the_rest(self, serve: Serve) -> None:
        gate = threading.Event()
        gate.set()
        reader, _ = painted_reader(lambda: (gate.wait(10), None)[1])
        client = await serve(lambda: reader)
        gate.clear()
        under_way = asyncio.create_task(post(client, ONE))
        await asyncio.sleep(0.1)
        client.server.app[SERVICE].drain()  # type: ignore[attr-defined]
        assert (await client.get("/readyz")).status == 503
        assert (await post(client, ONE)).status == 503
        gate.set()
        assert (await under_way).status == 200


async def test_capabilities_name_what_really_runs(serve: Serve) -> None:
    client = await serve(limits={"regions": 7})
    shown = await (await client.get("/v1/capabilities")).json()
    assert shown["protocols"] == ["tierocr.refine/1"]
    assert shown["engine"] == {
        "pack": "painted",
        "precision": "f32",
        "runtime": "fake 1.0 CPU",
    }
    assert shown["limits"]["regions"] == 7


async def test_metrics_count_what_happened(serve: Serve) -> None:
    client = await serve()
    await post(client, ONE)
    await post(client, b"nonsense")
    response = await client.get("/metrics")
    assert response.content_type == "text/plain"
    text = await response.text()
    for line in (
        'tierocr_requests_total{code="ok",route="/v1/refine"} 1.0',
        'tierocr_requests_total{code="bad_request",route="/v1/refine"} 1.0',
        'tierocr_request_duration_seconds_count{route="/v1/refine"} 2.0',
        "tierocr_queue_wait_seconds_count 1.0",
        'tierocr_batch_size_count{bucket="128",stage="recognise"} 1.0',
        "tierocr_batch_fill_ratio_sum 0.125",
        "tierocr_padding_ratio_count 1.0",
        'tierocr_stage_duration_seconds_count{stage="decode"} 1.0',
        "tierocr_deadline_missed_total 0.0",
        'tierocr_engine_info{backend="fake",model="painted",precision="f32",version="1.0"} 1.0',
    ):
        assert line in text, line
    assert "tierocr_queue_depth" in text and "tierocr_shed_total" in text


async def test_request_ids_are_echoed_or_made(serve: Serve) -> None:
    client = await serve()
    echoed = await client.get("/healthz", headers={"X-Request-Id": "scan-42/a"})
    assert echoed.headers["X-Request-Id"] == "scan-42/a"
    for odd in ("", "two words", "x" * 300):
        made = await client.get("/healthz", headers={"X-Request-Id": odd})
        assert re.fullmatch("[0-9a-f]{32}", made.headers["X-Request-Id"])


async def test_one_json_log_line_a_request_without_secrets(
    serve: Serve, tokens: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = add_token(tokens, "kiosk", "now")
    client = await serve(auth={"tokens_file": str(tokens)})
    with caplog.at_level(logging.INFO):
        await post(client, ONE, Authorization=f"Bearer {secret}", Idempotency_Key="k1")
        await post(client, ONE, Authorization="Bearer not-the-token")
    records = [r for r in caplog.records if r.name == "tierocr.cloud.requests"]
    lines = [json.loads(JsonFormatter().format(r)) for r in records]
    assert [(line["status"], line["code"]) for line in lines] == [
        (200, "ok"),
        (401, "unauthorized"),
    ]
    assert lines[0]["caller"] == "kiosk" and lines[0]["regions"] == 1
    assert lines[0]["route"] == "/v1/refine" and lines[0]["duration_ms"] > 0
    assert secret not in str(lines) and "not-the-token" not in str(lines)


async def _talk(port: int | None, *parts: bytes) -> bytes:
    """Send raw bytes, each part after the first answer to the one before; all that came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            answer += await asyncio.wait_for(reader.read(1 << 16), 5)
    finally:
        writer.close()
        await writer.wait_closed()
    return answer
