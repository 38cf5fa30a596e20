"""The cloud service as a real process over the smallest real pack."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import cv2
import numpy as np
import pytest

from tests.fakes.environ import plain_environ
from tierocr.cloud.tokens import add_token
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    Refined,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_request,
    unpack_reply,
)

pytestmark = pytest.mark.system

Process = subprocess.Popen[str]


@contextmanager
def service(folder: Path, *options: str) -> Iterator[Process]:
    """`python -m tierocr.cloud` on a free port; its stderr goes to a file."""
    environ = plain_environ(TIEROCR_MODEL__WARM_WIDTHS="[128]", TIEROCR_STOP__GRACE_SECONDS="10")
    with (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tierocr.cloud", "--port", "0", *options],
            stderr=stderr,
            text=True,
            env=environ,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def port_of(process: Process, port_file: Path) -> int:
    limit = time.monotonic() + 60
    while not port_file.exists():
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.05)
    return int(port_file.read_text())


def request(text: str) -> bytes:
    crop = np.full((48, 30 * len(text) + 40, 3), 255, dtype=np.uint8)
    cv2.putText(crop, text, (15, 35), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2, cv2.LINE_AA)
    image = cv2.imencode(".png", crop)[1].tobytes()
    region = RegionImage(id="line", image=image, format="png")
    page = PageRef(id="p", width=1000, height=1000)
    return pack_request(RefineRequest(request_id="r", device="kiosk", page=page, regions=(region,)))


async def refine(url: str, body: bytes, token: str | None) -> tuple[int, Refined | None]:
    headers = {"Content-Type": CONTENT_TYPE}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/refine", data=body, headers=headers) as response,
    ):
        if response.status != 200:
            return response.status, None
        return 200, unpack_reply(await response.read(), WireLimits()).results[0]


async def _posted(session: aiohttp.ClientSession, url: str, body: bytes) -> aiohttp.ClientResponse:
    return await session.post(url, data=body)


def test_it_reads_for_those_with_a_token_and_stops_in_order(tmp_path: Path) -> None:
    tokens, port_file = tmp_path / "tokens.jsonl", tmp_path / "port"
    token = add_token(tokens, "kiosk", "now")
    options = ("--tokens", str(tokens), "--pack", "edge-tiny", "--port-file", str(port_file))
    with service(tmp_path, *options) as process:
        port = port_of(process, port_file)
        url = f"http://127.0.0.1:{port}"

        async def talk() -> tuple[int, Refined | None]:
            assert (await refine(url, request("Hello"), None))[0] == 401
            return await refine(url, request("Invoice 2047"), token)

        status, refined = asyncio.run(talk())
        for head in (f"Authorization: Bearer {token}\0", f"X: {token}{'a' * 9000}", f"{token}\r"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode())
                assert connection.recv(100).startswith(b"HTTP/1.0 400")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert status == 200 and refined is not None
    assert refined.text.replace(" ", "") == "Invoice2047"
    assert refined.score_raw > 0.3
    said = (tmp_path / "stderr").read_text()
    assert re.search(rf"^listening on {re.escape(url)}$", said, re.MULTILINE)
    assert token not in said and "Traceback" not in said


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_sighup_opens_the_model_anew_and_drops_no_request(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    options = ("--allow-anonymous", "--pack", "edge-tiny", "--port-file", str(port_file))
    with service(tmp_path, *options) as process:
        url = f"http://127.0.0.1:{port_of(process, port_file)}"

        limit = time.monotonic() + 60
        answers: list[tuple[int, Refined | None]] = []

        async def ask_until_opened(times: int) -> None:
            while (tmp_path / "stderr").read_text().count("opened anew") < times:
                assert process.poll() is None and time.monotonic() < limit
                answers.append(await refine(url, request("Invoice 2047"), None))

        async def talk() -> None:
            for times in (1, 2):
                process.send_signal(signal.SIGHUP)
                await asyncio.gather(*(ask_until_opened(times) for _ in range(4)))

        asyncio.run(talk())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    texts = [refined.text.replace(" ", "") for _, refined in answers if refined is not None]
    assert texts == ["Invoice2047"] * len(answers) and len(answers) >= 8


def test_what_is_under_way_is_finished_after_sigterm(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    page = np.full((1600, 1200, 3), 255, dtype=np.uint8)
    for row in range(20):
        at = (80, 100 + 70 * row)
        cv2.putText(page, f"Row {row} of many", at, cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    image = cv2.imencode(".png", page)[1].tobytes()
    options = ("--allow-anonymous", "--pack", "edge-tiny", "--port-file", str(port_file))
    with service(tmp_path, *options) as process:
        url = f"http://127.0.0.1:{port_of(process, port_file)}/v1/ocr"

        async def talk() -> int:
            async with aiohttp.ClientSession() as session:
                sent = asyncio.ensure_future(_posted(session, url, image))
                await asyncio.sleep(0.2)
                process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.05)
                if hasattr(signal, "SIGHUP"):  # no reason to end at once
                    process.send_signal(signal.SIGHUP)
                async with await sent as response:
                    assert "Row 7" in await response.text()
                    return response.status

        assert asyncio.run(talk()) == 200
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pack", "edge-tiny"), "allow_anonymous"),
        (("--pack", "no-such-pack", "--allow-anonymous"), "no-such-pack"),
    ],
)
def test_what_it_cannot_do_ends_with_2(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    with service(tmp_path, *options) as process:
        assert process.wait(timeout=60) == 2
    said = (tmp_path / "stderr").read_text()
    assert message in said and "Traceback" not in said
