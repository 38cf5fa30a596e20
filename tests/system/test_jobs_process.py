"""Jobs in a real service that is killed in the middle of one."""

from __future__ import annotations

import asyncio
import io
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import cv2
import numpy as np
import psutil
import pytest
from PIL import Image

from tests.system.test_cloud_process import Process, port_of, service

pytestmark = pytest.mark.system

PAGES = 5


def scan() -> bytes:
    """A TIFF of pages that say which they are."""
    pages = []
    for number in range(PAGES):
        page = np.full((640, 560, 3), 255, dtype=np.uint8)
        for row in range(5):
            at = (60, 100 + 90 * row)
            text = f"Page {number} row {row}"
            cv2.putText(page, text, at, cv2.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2)
        pages.append(Image.fromarray(page))
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    return out.getvalue()


async def post(session: aiohttp.ClientSession, url: str, data: bytes) -> dict[str, Any]:
    form = aiohttp.FormData()
    for n in range(2):
        form.add_field("files", io.BytesIO(data), filename=f"{n}.tif")
    headers = {"Idempotency-Key": "one-and-only"}
    async with session.post(f"{url}/v1/jobs", data=form, headers=headers) as response:
        assert response.status == 202, await response.text()
        job: dict[str, Any] = await response.json()
        return job


async def until(
    session: aiohttp.ClientSession, address: str, met: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    limit = time.monotonic() + 60
    while True:
        async with session.get(address) as response:
            job: dict[str, Any] = await response.json()
        if met(job):
            return job
        assert time.monotonic() < limit, job
        await asyncio.sleep(0.05)


def serve_from(tmp_path: Path, name: str) -> tuple[str, ...]:
    config = tmp_path / "cloud.yaml"
    kept = f"folder: {tmp_path / 'jobs'}, keep_files: false"
    config.write_text(f"jobs: {{{kept}}}\n", encoding="utf-8")
    port_file = str(tmp_path / name)
    start = ("--allow-anonymous", "--pack", "edge-tiny", "--config", str(config))
    return (*start, "--port-file", port_file)


def gone(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=10)[1]


def test_a_killed_service_finishes_the_job_after_its_restart(tmp_path: Path) -> None:
    data = scan()

    async def begin(process: Process, url: str) -> tuple[str, list[psutil.Process]]:
        async with aiohttp.ClientSession() as session:
            job = await post(session, url, data)
            address = f"{url}/v1/jobs/{job['id']}"
            await until(session, address, lambda j: bool(j["files"][0]["pages"]["done"] >= 2))
        decoders = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGKILL)
        process.wait()
        return job["id"], decoders

    async def end(url: str, job_id: str) -> list[str]:
        async with aiohttp.ClientSession() as session:
            again = await post(session, url, data)
            assert again["id"] == job_id, "a client that sends it again gets the same job"
            address = f"{url}/v1/jobs/{job_id}"
            job = await until(session, address, lambda j: j["state"] not in ("queued", "running"))
            assert job["state"] == "done"
            texts = []
            for file in job["files"]:
                async with session.get(f"{url}{file['result']}?format=text") as response:
                    texts.append((await response.text()).replace(" ", ""))
            return texts

    with service(tmp_path, *serve_from(tmp_path, "port1")) as process:
        url = f"http://127.0.0.1:{port_of(process, tmp_path / 'port1')}"
        job_id, decoders = asyncio.run(begin(process, url))
    assert decoders and gone(decoders), "no decoder outlives the service"
    with closing(sqlite3.connect(tmp_path / "jobs" / "jobs.sqlite")) as database:
        (before,) = database.execute("SELECT count(*) FROM pages").fetchone()
    assert 2 <= before < 2 * PAGES, "it was killed in the middle"

    with service(tmp_path, *serve_from(tmp_path, "port2")) as process:
        url = f"http://127.0.0.1:{port_of(process, tmp_path / 'port2')}"
        texts = asyncio.run(end(url, job_id))
        decoders = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert gone(decoders)
    for text in texts:
        assert [text.count(f"Page{n}row3") for n in range(PAGES)] == [1] * PAGES
    with closing(sqlite3.connect(tmp_path / "jobs" / "jobs.sqlite")) as database:
        rows = database.execute("SELECT n, page FROM pages ORDER BY n, page").fetchall()
        told = database.execute("SELECT data FROM events WHERE kind = 'page'").fetchall()
        assert rows == [(n, p) for n in (0, 1) for p in range(PAGES)]
        assert len(told) == len(rows), "each page was stored, and told of, once"
    assert not list((tmp_path / "jobs" / "files").iterdir())
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_sigterm_ends_streams_at_once_and_keeps_the_job(tmp_path: Path) -> None:
    async def talk(process: Process, url: str) -> float:
        async with aiohttp.ClientSession() as session:
            job = await post(session, url, scan())
            async with session.get(f"{url}/v1/jobs/{job['id']}/events") as response:
                await response.content.readline()
                process.send_signal(signal.SIGTERM)
                started = time.monotonic()
                await response.content.read()
                return time.monotonic() - started

    with service(tmp_path, *serve_from(tmp_path, "port")) as process:
        url = f"http://127.0.0.1:{port_of(process, tmp_path / 'port')}"
        assert asyncio.run(talk(process, url)) < 8, "well before the time of grace is over"
        assert process.wait(timeout=20) == 0
    with closing(sqlite3.connect(tmp_path / "jobs" / "jobs.sqlite")) as database:
        ((state,),) = database.execute("SELECT state FROM jobs").fetchall()
    assert state in ("queued", "running")
