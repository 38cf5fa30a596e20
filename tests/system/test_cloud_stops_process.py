"""A real service that is told to stop, or killed, under load: what it accepted it answers, and what
is sent again is answered once.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from tests.system.test_cloud_process import Process, port_of, request, service
from tierocr.shared.protocol import CONTENT_TYPE, WireLimits, unpack_reply

pytestmark = pytest.mark.system

CLIENTS, EACH = 12, 14
STOPPED_AT, KILLED_AT = 100, 60  # the request whose answer sets it off


@dataclass
class Answers:
    """By request id: its text, or the status or failure that came instead."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    async def ask(self, session: aiohttp.ClientSession, url: str, name: str, text: str) -> None:
        headers = {"Content-Type": CONTENT_TYPE, "X-Request-Id": name, "Idempotency-Key": name}
        try:
            async with session.post(url, data=request(text), headers=headers) as response:
                content = await response.read()
                if response.status != 200:
                    self.refused[name] = response.status
                    assert response.status == 503 and "Retry-After" in response.headers
                    return
        except aiohttp.ClientError:
            self.broken.add(name)
            return
        (result,) = unpack_reply(content, WireLimits()).results
        assert result.error is None
        self.texts.setdefault(name, []).append(result.text.replace(" ", ""))


def plan() -> dict[str, str]:
    """A text for each request; all differ."""
    return {f"r{n}": f"Invoice {2000 + n}" for n in range(CLIENTS * EACH)}


async def flood(url: str, answers: Answers, when: int, act: Callable[[], None]) -> None:
    """All requests, and in the middle of them something happens to the service."""
    work = iter(plan().items())
    async with aiohttp.ClientSession() as session:

        async def client() -> None:
            for name, text in work:
                await answers.ask(session, url, name, text)
                if name == f"r{when}":
                    act()

        await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def again(url: str, answers: Answers) -> None:
    """Send what was not answered once more."""
    connector = aiohttp.TCPConnector(limit=CLIENTS)
    async with aiohttp.ClientSession(connector=connector) as session:
        missing = [item for item in plan().items() if item[0] not in answers.texts]
        await asyncio.gather(*(answers.ask(session, url, *item) for item in missing))


def started(tmp_path: Path, name: str) -> tuple[str, ...]:
    options = ("--allow-anonymous", "--pack", "edge-tiny")
    return (*options, "--port-file", str(tmp_path / name))


def address(process: Process, tmp_path: Path, name: str) -> str:
    return f"http://127.0.0.1:{port_of(process, tmp_path / name)}/v1/refine"


def logged(tmp_path: Path) -> dict[str, str]:
    """The code of each request that the service says it was done with."""
    lines = (line for line in (tmp_path / "stderr").read_text().splitlines() if line[:1] == "{")
    records = (json.loads(line) for line in lines)
    return {r["request_id"]: r["code"] for r in records if r["message"] == "request"}


def test_no_accepted_request_is_lost_and_a_resend_is_answered_once(tmp_path: Path) -> None:
    answers = Answers()
    with service(tmp_path, *started(tmp_path, "one")) as process:
        stop = lambda: process.send_signal(signal.SIGTERM)  # noqa: E731
        asyncio.run(flood(address(process, tmp_path, "one"), answers, STOPPED_AT, stop))
        assert process.wait(timeout=30) == 0
    codes = logged(tmp_path)
    done = {name for name, code in codes.items() if code == "ok"}
    assert done == set(answers.texts), "what it accepted reached who asked"
    assert set(codes.values()) <= {"ok", "unavailable"}
    assert len(answers.texts) > STOPPED_AT - CLIENTS, "the others may be on their way"
    assert answers.refused or answers.broken, "it was under load"

    with service(tmp_path, *started(tmp_path, "two")) as process:
        kill = lambda: process.send_signal(signal.SIGKILL)  # noqa: E731
        rest = Answers()
        asyncio.run(flood(address(process, tmp_path, "two"), rest, KILLED_AT, kill))
        process.wait()
    assert rest.broken and len(rest.texts) > KILLED_AT - CLIENTS

    with service(tmp_path, *started(tmp_path, "three")) as process:
        url = address(process, tmp_path, "three")
        for left in (answers, rest):
            asyncio.run(again(url, left))
            wanted = {name: [text.replace(" ", "")] for name, text in plan().items()}
            right = sum(left.texts.get(name) == text for name, text in wanted.items())
            assert set(left.texts) == set(wanted)
            assert all(len(texts) == 1 for texts in left.texts.values())
            assert right > 0.9 * len(wanted)
    for name, text in answers.texts.items():
        assert rest.texts[name] == text, "the same, whoever answers"
