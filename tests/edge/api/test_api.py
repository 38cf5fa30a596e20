"""The agent with its API, over loopback, with a reader of painted pages."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.cloud import fake_cloud, right
from tests.fakes.lines import read_line
from tests.fakes.painted import png
from tests.fakes.rows import page, rows_reader
from tierocr.edge.agent import Agent, Doors, make_agent
from tierocr.edge.api.exposition import outcome
from tierocr.edge.api.health import Condition, Device, readiness, temperatures
from tierocr.edge.disk import Disk
from tierocr.edge.outbox.choices import Load
from tierocr.edge.outbox.values import Status
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.document import Alternative, Line, Route

PAGE = png(page("hello", "sun"))
SAME = Alternative(text=read_line().text, source="edge", score_raw=0.5)


def routed(reason: str) -> Line:
    return read_line(route=Route(reason=reason, p_error=0.5))


@contextlib.asynccontextmanager
async def api(
    folder: Path, caplog: pytest.LogCaptureFixture, **sections: Any
) -> AsyncIterator[aiohttp.ClientSession]:
    caplog.set_level(logging.INFO, "tierocr.edge")
    own = {"port": 0, **sections.pop("api", {})}
    state = {"folder": folder / "state"}
    outbox = {"free_bytes": 0, "retry_seconds": 0.05, "retry_max_seconds": 0.1}
    settings = EdgeSettings.model_validate(
        {"api": own, "state": state, "outbox": outbox, "stop": {"grace_seconds": 1}, **sections}
    )
    doors = Doors(stdin=io.BytesIO(), stdout=io.BytesIO(), environ={}, disk=Disk())
    agent: Agent = make_agent(settings, rows_reader(), doors)
    running = asyncio.create_task(agent.run())
    try:
        while not (said := [r for r in caplog.records if r.message == "listening"]):
            assert not running.done(), running.result()
            await asyncio.sleep(0.01)
        address = said[-1].__dict__["fields"]["address"]
        async with aiohttp.ClientSession(address) as session:
            yield session
    finally:
        agent.stop()
        await asyncio.wait_for(running, 30)


@pytest.mark.parametrize(
    ("line", "became"),
    [
        (read_line(), None),
        (routed("sure"), None),
        (routed("unsure"), "unanswered"),
        (routed("whole_page, refused: length"), "refused"),
        (replace(routed("unsure"), source="cloud"), "changed"),
        (replace(routed("unsure"), source="cloud", alternatives=(SAME,)), "same"),
    ],
)
def test_what_became_of_a_line(line: Line, became: str | None) -> None:
    assert outcome(line) == became


async def asked(session: aiohttp.ClientSession, header: bytes) -> bytes:
    """The first line of the answer to a request with a header that no client would send."""
    address = session._base_url
    assert address is not None and address.host is not None
    reader, writer = await asyncio.open_connection(address.host, address.port)
    host = f"{address.host}:{address.port}".encode()
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: " + host + b"\r\n" + header + b"\r\n\r\n")
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    await writer.wait_closed()
    return line


async def told(session: aiohttp.ClientSession, path: str, **more: Any) -> tuple[int, Any]:
    async with session.get(path, **more) as response:
        return response.status, await response.json()


async def test_a_file_is_read_followed_and_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with fake_cloud(right) as cloud:
        sending = {"upload": True, "url": cloud.url, "threshold": 0.97}
        async with (
            api(tmp_path, caplog, cloud=sending) as session,
            session.get("/v1/events") as events,
        ):
            assert await events.content.readline() == b": listening\n"
            async with session.post("/v1/ocr", data=PAGE) as response:
                assert response.status == 200
                document = await response.json()
                job = response.headers["Location"]
            assert [n["text"].lower() for n in document["pages"][0]["lines"]] == ["hello", "sun"]
            news: list[dict[str, Any]] = []
            while len(news) < 2:
                line = await asyncio.wait_for(events.content.readline(), 30)
                if line.startswith(b"data: "):
                    news.append(json.loads(line[6:]))
            assert [(n["version"], n["final"]) for n in news] == [(1, False), (2, True)]
            _, after = await told(session, job)
            assert after["state"] == "refined" and after["source"] == "api"
            assert after["document"]["pages"][0]["lines"][0]["text"] == "HELLO"
            async with session.get("/metrics") as response:
                metrics = await response.text()
            assert 'tierocr_lines_total{decision="escalate"} 1.0' in metrics
            assert "tierocr_refined_changed_total 1.0" in metrics
            assert 'tierocr_refined_total{outcome="changed"} 1.0' in metrics
            sent = sum(len(call.body) for call in cloud.calls)
            assert f"tierocr_upload_bytes_total {float(sent)}" in metrics
            assert "tierocr_cloud_up 1.0" in metrics and "tierocr_outbox_jobs" in metrics


async def test_the_same_file_again_and_after_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        async with api(tmp_path, caplog) as session:
            for _ in range(2):
                form = aiohttp.FormData()
                form.add_field("file", PAGE, filename="a.png")
                async with session.post("/v1/ocr", data=form) as response:
                    assert (await response.json())["pages"][0]["lines"][1]["text"] == "sun"
        caplog.clear()


async def test_it_tells_of_itself_and_no_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hook = {"url": "https://me:pass@example.org/hook?key=1"}
    cloud = {"url": "https://example.org", "token": "very secret"}
    async with api(tmp_path, caplog, sinks={"webhook": [hook]}, cloud=cloud) as session:
        assert await told(session, "/healthz") == (200, {"status": "live"})
        status, ready = await told(session, "/readyz")
        assert status == 200 and ready["status"] == "ready" and ready["cloud"] == "off"
        assert ready["device"]["disk_free_bytes"] > 0
        _, config = await told(session, "/v1/config")
        text = json.dumps(config)
        assert all(s not in text for s in ("very secret", ":pass@", "key=1"))
        assert config["sinks"]["webhook"][0]["url"] == "https://example.org/hook?…"
        _, models = await told(session, "/v1/models")
        assert models["engine"]["pack"] == "painted"
        assert "edge-tiny" in [pack["name"] for pack in models["packs"]]


async def test_what_is_wrong_is_a_problem_document(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = {"max_bytes": 4096}
    async with api(tmp_path, caplog, reading=small, api={"token": "t"}) as session:
        right_token = {"Authorization": "Bearer t"}

        async def posted(data: bytes, **headers: str) -> tuple[int, str]:
            async with session.post("/v1/ocr", data=data, headers=headers) as response:
                assert response.content_type == "application/problem+json"
                return response.status, (await response.json())["code"]

        assert await posted(PAGE) == (401, "unauthorized")
        assert (await told(session, "/healthz"))[0] == 200
        assert await posted(b"", **right_token) == (400, "bad_request")
        assert await posted(b"no picture", **right_token) == (415, "unsupported_format")
        assert await posted(b"x" * 9999, **right_token) == (413, "too_large")
        assert await posted(PAGE, **right_token, Host="evil.example") == (401, "unauthorized")
        assert await posted(PAGE, **right_token, Origin="http://evil.example") == (
            401,
            "unauthorized",
        )
        assert await posted(PAGE, **right_token, Origin="http://[") == (401, "unauthorized")
        assert b" 401 " in await asked(session, b"Authorization: Bearer \xff")
        status, problem = await told(session, "/v1/jobs/none", headers=right_token)
        assert (status, problem["code"]) == (404, "not_found")
        status, problem = await told(session, "/nowhere", headers=right_token)
        assert (status, problem["code"]) == (404, "not_found")


def test_a_cloud_that_is_down_is_no_reason_to_be_unready() -> None:
    outbox = Status(load=Load(bytes=1, documents=1), oldest=2.0, waiting_documents=1, pending={})
    device = Device(temperatures={"cpu": 40.0}, disk_free=1, memory=1)
    condition = Condition(outbox=outbox, device=device, cloud=False)
    ready, detail = readiness(condition)
    assert ready and detail["status"] == "degraded" and detail["cloud"] == "down"
    full = Condition(outbox=outbox, device=device, cloud=False, blocked="the disk is full")
    ready, detail = readiness(full)
    assert not ready and detail["reason"] == "the disk is full"


def test_sensors_are_read(tmp_path: Path) -> None:
    for n, (kind, value) in enumerate((("cpu", "41500"), ("cpu", "42000"), ("gpu", "asleep"))):
        zone = tmp_path / f"thermal_zone{n}"
        zone.mkdir()
        (zone / "type").write_text(kind + "\n")
        (zone / "temp").write_text(value + "\n")
    assert temperatures(tmp_path) == {"cpu": 41.5, "cpu thermal_zone1": 42.0}
    assert temperatures(tmp_path / "none") == {}


async def test_what_must_not_leave_is_not_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = png(page("label", "value", "other", "sun"))
    with fake_cloud(right) as cloud:
        sending = {"upload": True, "url": cloud.url, "threshold": 0.97}
        rules = {"labels": ["label"], "sources": [{"source": "api", "allow": "lines"}]}
        async with (
            api(tmp_path, caplog, cloud=sending, privacy=rules) as session,
            session.post("/v1/ocr", data=data) as response,
        ):
            document = await response.json()
            while not (await told(session, response.headers["Location"]))[1]["final"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert cloud.lines == ["other"]
        reasons = [line["route"]["reason"] for line in document["pages"][0]["lines"]]
        assert reasons == ["stays", "stays", "unsure", "sure"]
        never = {"sources": [{"source": "api", "allow": "never"}]}
        caplog.clear()
        async with (
            api(tmp_path / "never", caplog, cloud=sending, privacy=never) as session,
            session.post("/v1/ocr", data=data) as response,
        ):
            assert (await response.json())["status"] == "final"
        assert cloud.lines == ["other"]


async def test_in_a_closed_window_nothing_is_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = [{"start": "00:00", "end": "12:00"}, {"start": "12:00", "end": "00:00"}]
    with fake_cloud(right) as cloud:
        sending = {"upload": True, "url": cloud.url, "threshold": 0.97, "windows": closed}
        async with api(tmp_path, caplog, cloud=sending) as session:
            async with session.post("/v1/ocr", data=PAGE) as response:
                assert (await response.json())["status"] == "provisional"
            _, job = await told(session, response.headers["Location"])
            assert job["state"] == "queued" and cloud.calls == []
        # What waits was cut under other rules; with stricter ones it must not go out any more.
        caplog.clear()
        del sending["windows"]
        strict = {"labels": ["hello"]}
        async with api(tmp_path, caplog, cloud=sending, privacy=strict) as session:
            while not (await told(session, response.headers["Location"]))[1]["final"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            _, job = await told(session, response.headers["Location"])
            assert "has changed" in job["reason"]
        assert cloud.calls == []
