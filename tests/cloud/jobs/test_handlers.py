"""`/v1/jobs` over fake networks, through HTTP."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cloud.conftest import Client, Serve, problem_of
from tests.cloud.test_ocr import page, texts_of, tiff
from tests.fakes.engines import painted_reader, slow
from tests.fakes.jobs import FullDisk
from tests.fakes.painted import png
from tierocr.cloud.tokens import add_token
from tierocr.shared.export import FORMATS, PICTURE_FORMATS
from tierocr.shared.ocr.reader import Reader

Job = dict[str, Any]


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Any]:
    """Settings of a service that keeps jobs."""
    return {"folder": str(tmp_path / "jobs"), "give_way_seconds": 0}


def form(*files: bytes) -> aiohttp.FormData:
    data = aiohttp.FormData(default_to_multipart=True)
    data.add_field("comment", "not a file")
    for n, content in enumerate(files):
        data.add_field("files", io.BytesIO(content), filename=f"scan-{n}.tif")
    return data


async def post(client: Client, *files: bytes, **headers: str) -> aiohttp.ClientResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post("/v1/jobs", data=form(*files), headers=named)


async def accepted(client: Client, *files: bytes, **headers: str) -> Job:
    response = await post(client, *files, **headers)
    assert response.status == 202, await response.text()
    job: Job = await response.json()
    assert response.headers["Location"] == f"/v1/jobs/{job['id']}"
    return job


async def shown(client: Client, job: Job) -> Job:
    response = await client.get(f"/v1/jobs/{job['id']}")
    assert response.status == 200, await response.text()
    tree: Job = await response.json()
    return tree


async def until(client: Client, job: Job, met: Callable[[Job], bool]) -> Job:
    limit = time.monotonic() + 20
    while not met(job := await shown(client, job)):
        assert time.monotonic() < limit, job
        await asyncio.sleep(0.02)
    return job


async def ended(client: Client, job: Job) -> Job:
    return await until(client, job, lambda j: j["state"] not in ("queued", "running"))


async def document_of(client: Client, job: Job, n: int) -> dict[str, Any]:
    response = await client.get(job["files"][n]["result"])
    assert response.status == 200, await response.text()
    document: dict[str, Any] = await response.json()
    return document


async def holds(folder: Path, count: int) -> None:
    """Wait until the folder holds so many things."""
    for _ in range(500):
        if len(names(folder)) == count:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(names(folder))


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def gated() -> tuple[Reader, threading.Event]:
    """A reader that waits at each call while its gate is closed; open at first."""
    gate = threading.Event()
    gate.set()
    reader, _ = painted_reader(lambda: (gate.wait(10), None)[1])
    return reader, gate


async def test_a_job_from_its_upload_to_its_results(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    files = (tiff("dough", "bread"), png(page("sauce")))
    job = await accepted(client, *files)
    assert job["state"] in ("queued", "running") and job["place"] == 0
    job = await ended(client, job)
    assert job["state"] == "done" and job["place"] is None
    assert [f["state"] for f in job["files"]] == ["done", "done"]
    assert [f["pages"] for f in job["files"]] == [
        {"done": 2, "failed": 0, "total": 2},
        {"done": 1, "failed": 0, "total": 1},
    ]
    document = await document_of(client, job, 0)
    assert texts_of(document) == [["dough"], ["bread"]]
    assert document["input"]["name"] == "scan-0.tif"
    at_once = await (await client.post("/v1/ocr", data=io.BytesIO(files[0]))).json()
    for unlike in ("timings", "input"):
        document.pop(unlike), at_once.pop(unlike)
    assert document == at_once, "the same file gives the same document by both routes"


async def test_a_result_in_every_format_that_exists(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    job = await ended(client, await accepted(client, png(page("phone"))))
    for name, kind in FORMATS.items():
        response = await client.get(job["files"][0]["result"], params={"format": name})
        assert response.status == 200 and response.content_type == kind.media_type
        assert "phone" in await response.text()
    for name, drawn in PICTURE_FORMATS.items():
        response = await client.get(job["files"][0]["result"], params={"format": name})
        assert response.status == 200 and response.content_type == drawn.media_type
        assert len(await response.read()) > 500
    refused = await client.get(job["files"][0]["result"], params={"format": "docx"})
    assert refused.status == 400 and "markdown" in (await problem_of(refused))["detail"]


async def test_files_that_are_not_kept_have_no_format_that_shows_them(
    serve: Serve, kept: dict[str, Any]
) -> None:
    client = await serve(jobs={**kept, "keep_files": False})
    job = await ended(client, await accepted(client, png(page("phone"))))
    assert list((Path(kept["folder"]) / "files").iterdir()) == []
    response = await client.get(job["files"][0]["result"], params={"format": "pdf"})
    assert response.status == 400
    shown = await (await client.get("/v1/capabilities")).json()
    assert shown["jobs"]["formats"] == list(FORMATS)


async def test_a_bad_file_fails_alone_and_a_bad_page_too(
    serve: Serve, kept: dict[str, Any]
) -> None:
    client = await serve(jobs=kept)
    job = await accepted(client, b"plain text", tiff("one", "a!b", "two"), b"\x00\x01\x02")
    job = await ended(client, job)
    assert job["state"] == "done"
    assert [f["state"] for f in job["files"]] == ["failed", "done", "failed"]
    assert [f["error"] and f["error"]["code"] for f in job["files"]] == [
        "unsupported_format",
        None,
        "bad_image",
    ]
    document = await document_of(client, job, 1)
    assert texts_of(document) == [["one"], [], ["two"]]
    assert document["pages"][1]["error"]["code"] == "internal"
    response = await client.get(job["files"][0]["result"])
    assert response.status == 415
    assert (await problem_of(response))["code"] == "unsupported_format"
    nothing = await ended(client, await accepted(client, b"plain text"))
    assert nothing["state"] == "failed"


async def test_what_is_no_job_is_refused(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    for request, status, code in (
        ({"data": b"raw", "headers": {"Content-Type": "image/png"}}, 415, "unsupported_format"),
        ({"data": form()}, 400, "bad_request"),
        ({"data": form(b"")}, 400, "bad_request"),
        ({"data": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "bad_request"),
        ({"data": form(b"x"), "headers": {"Idempotency-Key": "a b"}}, 400, "bad_request"),
    ):
        response = await client.post("/v1/jobs", **request)
        assert response.status == status
        assert (await problem_of(response))["code"] == code
    folder = Path(kept["folder"])
    assert list((folder / "files").iterdir()) == []
    for path in ("nothing", "nothing/events", "nothing/files/0/result"):
        response = await client.get(f"/v1/jobs/{path}")
        assert response.status == 404 and (await problem_of(response))["code"] == "not_found"


async def test_too_many_and_too_large_files_are_413(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(
        jobs={**kept, "files": 2, "body_bytes": 3_000}, limits={"file_body_bytes": 2_000}
    )
    for files in ([b"x"] * 3, [bytes(2_001)], [bytes(1_600)] * 2, [bytes(3_000_000)]):
        response = await post(client, *files)
        assert response.status == 413
        assert (await problem_of(response))["code"] == "too_large"
    assert list((Path(kept["folder"]) / "files").iterdir()) == []


async def test_a_client_that_sends_on_gets_its_answer(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs={**kept, "body_bytes": 100_000})

    async def body() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        for _ in range(40):
            yield bytes(50_000)

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    response = await client.post("/v1/jobs", data=body(), headers=kind)
    assert response.status == 413 and (await problem_of(response))["code"] == "too_large"
    assert (await client.get("/healthz")).status == 200


async def test_a_device_has_a_quota_of_its_own(serve: Serve, kept: dict[str, Any]) -> None:
    reader, gate = gated()
    client = await serve(lambda: reader, jobs={**kept, "unfinished_per_device": 2})
    gate.clear()
    data = png(page("one"))
    first, second = await accepted(client, data), await accepted(client, data)
    response = await post(client, data)
    assert response.status == 429 and response.headers["Retry-After"] == "10", "nothing known yet"
    assert (await problem_of(response))["code"] == "rate_limited"
    assert (await shown(client, second))["place"] == 1
    gate.set()
    await ended(client, first)
    await accepted(client, data)


async def test_a_full_store_is_503_until_something_expires(
    serve: Serve, kept: dict[str, Any]
) -> None:
    data = png(page("one"))
    client = await serve(jobs={**kept, "store_bytes": len(data) + 1_000})
    job = await ended(client, await accepted(client, data))
    response = await post(client, data)
    assert response.status == 503 and int(response.headers["Retry-After"]) >= 5
    assert (await problem_of(response))["code"] == "over_capacity"
    assert (await client.delete(f"/v1/jobs/{job['id']}")).status == 200
    assert (await ended(client, await accepted(client, data)))["state"] == "done"


async def test_a_full_disk_refuses_what_comes_and_keeps_what_came(
    serve: Serve, kept: dict[str, Any]
) -> None:
    reader, gate = gated()
    disk = FullDisk()
    client = await serve(lambda: reader, jobs=kept, disk=disk)
    gate.clear()
    job = await accepted(client, png(page("one")))
    disk.full = True
    response = await post(client, png(page("two")))
    assert response.status == 503 and int(response.headers["Retry-After"]) >= 5
    assert "disk" in (await problem_of(response))["detail"]
    disk.full = False
    gate.set()
    assert (await ended(client, job))["state"] == "done"
    assert (await ended(client, await accepted(client, png(page("two")))))["state"] == "done"


async def test_results_wait_for_room_on_a_full_disk(small_disk: Path, serve: Serve) -> None:
    reader, gate = gated()
    client = await serve(lambda: reader, jobs={"folder": str(small_disk / "jobs"), "free_bytes": 0})
    gate.clear()
    words = ["one", "two", "three", "four", "five", "six"]
    job = await accepted(client, tiff(*words))
    await until(client, job, lambda j: bool(j["state"] == "running"))
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="space"), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    gate.set()
    await asyncio.sleep(0.5)
    assert (await shown(client, job))["state"] == "running"
    refused = await post(client, png(page("more")))
    assert refused.status == 503 and "Retry-After" in refused.headers
    assert (await client.get("/readyz")).status == 200
    ballast.unlink()
    job = await ended(client, job)
    assert texts_of(await document_of(client, job, 0)) == [[w] for w in words]


async def test_little_room_on_the_disk_refuses_uploads(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs={**kept, "free_bytes": 1 << 60})
    response = await post(client, png(page("one")))
    assert response.status == 503 and (await problem_of(response))["code"] == "over_capacity"


async def test_others_do_not_see_a_job(serve: Serve, kept: dict[str, Any], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.jsonl"
    mine, other = (
        {"Authorization": f"Bearer {add_token(tokens, name, 'now')}"} for name in ("a", "b")
    )
    client = await serve(auth={"tokens_file": str(tokens)}, jobs=kept)
    response = await client.post("/v1/jobs", data=form(png(page("one"))), headers=mine)
    path = response.headers["Location"]
    for method, below in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
        refused = await client.request(method, path + below, headers=other)
        assert refused.status == 404 and (await problem_of(refused))["code"] == "not_found"
    assert (await client.get(f"{path}/files/0/result", headers=other)).status == 404
    assert (await client.get(path, headers=mine)).status == 200
    assert (await client.get(path)).status == 401


async def test_without_a_folder_there_are_no_jobs(serve: Serve) -> None:
    client = await serve()
    for response in (await post(client, b"x"), await client.get("/v1/jobs/x/events")):
        assert response.status == 404
        assert "jobs.folder" in (await problem_of(response))["detail"]
    assert (await (await client.get("/v1/capabilities")).json())["jobs"] is None


async def test_capabilities_name_the_limits_of_jobs(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs={**kept, "files": 7})
    jobs = (await (await client.get("/v1/capabilities")).json())["jobs"]
    assert jobs["limits"]["files"] == 7 and jobs["formats"] == [*FORMATS, *PICTURE_FORMATS]
    assert "folder" not in jobs["limits"]


async def events_of(
    client: Client,
    job: Job,
    after: int = 0,
    most: int = 1000,
    quiet: asyncio.Event | None = None,
) -> tuple[list[tuple[int, str, dict[str, Any]]], int]:
    """Events until the stream ends, and how many comments came between; `quiet` is set with the
    second of these.
    """
    events, comments, fields = [], 0, dict[str, str]()
    headers = {"Last-Event-ID": str(after)} if after else {}
    async with client.get(f"/v1/jobs/{job['id']}/events", headers=headers) as response:
        if response.status == 204:
            return [], 0
        assert response.status == 200 and response.content_type == "text/event-stream"
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith(":"):
                comments += 1
                if quiet is not None and comments == 2:
                    quiet.set()
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields.clear()
                if len(events) == most:
                    break
    return events, comments


async def test_events_tell_of_every_page_as_it_is_read(serve: Serve, kept: dict[str, Any]) -> None:
    reader, gate = gated()
    client = await serve(lambda: reader, jobs={**kept, "keep_alive_seconds": 0.1})
    gate.clear()
    job = await accepted(client, tiff("one", "two", "three"))
    quiet = asyncio.Event()
    watching = asyncio.create_task(events_of(client, job, quiet=quiet))
    await asyncio.wait_for(quiet.wait(), 10)
    assert not watching.done(), "a quiet stream is kept alive"
    gate.set()
    events, _ = await watching
    assert [e[0] for e in events] == list(range(1, len(events) + 1))
    assert [(kind, data.get("state", data.get("page"))) for _, kind, data in events] == [
        ("job", "queued"),
        ("job", "running"),
        ("file", "running"),
        ("page", 0),
        ("page", 1),
        ("page", 2),
        ("file", "done"),
        ("job", "done"),
    ]
    assert events[3][2] == {"file": 0, "page": 0, "total": 3}


async def test_a_stream_goes_on_where_it_was_cut_off(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    job = await accepted(client, tiff("one", "two"))
    first, _ = await events_of(client, job, most=3)
    rest, _ = await events_of(client, job, after=first[-1][0])
    assert [e[0] for e in first + rest] == [1, 2, 3, 4, 5, 6, 7]
    await ended(client, job)
    assert await events_of(client, job, after=7) == ([], 0)
    response = await client.get(f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": "x"})
    assert response.status == 400


async def test_more_streams_than_places_are_503(serve: Serve, kept: dict[str, Any]) -> None:
    reader, gate = gated()
    client = await serve(lambda: reader, jobs={**kept, "streams": 1})
    gate.clear()
    job = await accepted(client, png(page("one")))
    watching = asyncio.create_task(events_of(client, job))
    await asyncio.sleep(0.1)
    refused = await client.get(f"/v1/jobs/{job['id']}/events")
    assert refused.status == 503 and "Retry-After" in refused.headers
    gate.set()
    await watching


async def test_a_cancelled_job_is_read_no_further(serve: Serve, kept: dict[str, Any]) -> None:
    reader, network = painted_reader(slow(0.05))
    client = await serve(lambda: reader, jobs=kept)
    job = await accepted(client, png(page("one")), tiff(*["page"] * 100))
    await until(client, job, lambda j: bool(j["files"][1]["pages"]["done"] >= 2))
    response = await client.delete(f"/v1/jobs/{job['id']}")
    job = await response.json()
    assert response.status == 200 and job["state"] == "cancelled" and job["expires"]
    assert [f["state"] for f in job["files"]] == ["done", "cancelled"]
    assert texts_of(await document_of(client, job, 0)) == [["one"]]
    result = await client.get(job["files"][1]["result"])
    assert result.status == 409 and (await problem_of(result))["code"] == "cancelled"
    other = await ended(client, await accepted(client, png(page("two"))))
    assert other["state"] == "done" and len(network.batches) < 60
    left = [folder.name for folder in (Path(kept["folder"]) / "files").iterdir()]
    assert left == [other["id"]], "of the one that was cancelled nothing is left"


async def test_who_keeps_too_many_jobs_comes_again_when_one_expires(
    serve: Serve, kept: dict[str, Any]
) -> None:
    client = await serve(jobs={**kept, "kept_per_device": 1, "keep_seconds": 500})
    await ended(client, await accepted(client, png(page("one"))))
    response = await post(client, png(page("two")))
    assert response.status == 429 and 400 < int(response.headers["Retry-After"]) <= 500


async def test_jobs_count_towards_the_quota_of_requests(serve: Serve, kept: dict[str, Any]) -> None:
    quotas = {"requests_per_second": 0.01, "requests_burst": 1}
    client = await serve(jobs=kept, quotas=quotas)
    await accepted(client, png(page("one")))
    response = await post(client, png(page("two")))
    assert response.status == 429 and 90 <= int(response.headers["Retry-After"]) <= 100


async def test_a_result_that_is_not_there_yet_is_409(serve: Serve, kept: dict[str, Any]) -> None:
    reader, gate = gated()
    client = await serve(lambda: reader, jobs=kept)
    gate.clear()
    job = await accepted(client, png(page("one")))
    early = await client.get(job["files"][0]["result"])
    problem = await problem_of(early)
    assert early.status == 409 and problem["code"] == "not_finished" and problem["retryable"]
    for number in ("1", "-1", "x"):
        assert (await client.get(f"/v1/jobs/{job['id']}/files/{number}/result")).status == 404
    gate.set()


async def test_results_expire_and_then_the_job_is_forgotten(
    serve: Serve, kept: dict[str, Any]
) -> None:
    client = await serve(jobs={**kept, "keep_seconds": 0.6})
    job = await ended(client, await accepted(client, png(page("one"))))
    job = await until(client, job, lambda j: bool(j["state"] == "expired"))
    assert (await client.get(job["files"][0]["result"])).status == 404
    limit = time.monotonic() + 5
    while (await client.get(f"/v1/jobs/{job['id']}")).status != 404:
        assert time.monotonic() < limit
        await asyncio.sleep(0.05)


async def test_the_same_key_is_the_same_job(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    data = png(page("one"))
    first = await accepted(client, data, Idempotency_Key="k1")
    again = await asyncio.gather(*(accepted(client, data, Idempotency_Key="k1") for _ in range(3)))
    assert {job["id"] for job in again} == {first["id"]}
    other = await accepted(client, data, Idempotency_Key="k2")
    assert other["id"] != first["id"]
    response = await post(client, data, data, Idempotency_Key="k1")
    assert response.status == 422 and (await problem_of(response))["code"] == "key_reused"


async def test_an_upload_that_is_cut_off_leaves_nothing(serve: Serve, kept: dict[str, Any]) -> None:
    client = await serve(jobs=kept)
    files = Path(kept["folder"]) / "files"

    async def body() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        for _ in range(20):
            yield bytes(100_000)
        await asyncio.sleep(10)

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    upload = asyncio.create_task(client.post("/v1/jobs", data=body(), headers=kind))
    await holds(files, 1)
    upload.cancel()
    await holds(files, 0)


async def test_a_stopped_service_goes_on_where_it_was(serve: Serve, kept: dict[str, Any]) -> None:
    words = [f"word{c}" for c in "abcdefghijklmnopqrst"]
    reader, network = painted_reader(slow(0.03))
    client = await serve(lambda: reader, jobs=kept)
    job = await accepted(client, tiff(*words[:10]), tiff(*words[10:]))
    await until(client, job, lambda j: bool(j["files"][0]["pages"]["done"] >= 3))
    events, _ = await events_of(client, job, most=4)
    watching = asyncio.create_task(events_of(client, job, after=4))
    await asyncio.sleep(0.05)
    await client.server.close()
    before, _ = await watching
    assert not network.batches[30:], "it stopped in the middle"

    reader, network = painted_reader()
    client = await serve(lambda: reader, jobs=kept)
    job = await ended(client, job)
    assert job["state"] == "done"
    texts = [t for n in (0, 1) for t in texts_of(await document_of(client, job, n))]
    assert texts == [[w] for w in words]
    after, _ = await events_of(client, job, after=before[-1][0])
    pages = [(d["file"], d["page"]) for _, kind, d in events + before + after if kind == "page"]
    assert pages == [(f, p) for f in (0, 1) for p in range(10)], "each page once"


async def test_devices_take_turns(serve: Serve, kept: dict[str, Any], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.jsonl"
    many, few = (
        {"Authorization": f"Bearer {add_token(tokens, name, 'now')}"} for name in ("a", "b")
    )
    reader, gate = gated()
    client = await serve(lambda: reader, auth={"tokens_file": str(tokens)}, jobs=kept)
    gate.clear()
    files = [png(page("one"))] * 20
    response = await client.post("/v1/jobs", data=form(*files), headers=many)
    long = response.headers["Location"]
    response = await client.post("/v1/jobs", data=form(files[0]), headers=few)
    short = response.headers["Location"]
    gate.set()
    limit = time.monotonic() + 20
    while (await (await client.get(short, headers=few)).json())["state"] != "done":
        assert time.monotonic() < limit
        await asyncio.sleep(0.01)
    waiting = await (await client.get(long, headers=many)).json()
    assert sum(f["state"] == "queued" for f in waiting["files"]) > 10


async def test_the_estimate_follows_the_pages_that_were_read(
    serve: Serve, kept: dict[str, Any]
) -> None:
    reader, _ = painted_reader(slow(0.05))
    client = await serve(lambda: reader, jobs=kept)
    job = await accepted(client, tiff(*["page"] * 20))
    assert job["estimate_seconds"] is None
    job = await until(client, job, lambda j: bool(j["files"][0]["pages"]["done"] >= 5))
    left = 20 - job["files"][0]["pages"]["done"]
    assert left * 0.04 < job["estimate_seconds"] < left * 1.0
    second = await accepted(client, png(page("one")))
    assert second["place"] == 1 and second["estimate_seconds"] > 0
    await client.delete(f"/v1/jobs/{job['id']}")


async def test_jobs_give_way_to_requests(serve: Serve, kept: dict[str, Any]) -> None:
    reader, _ = painted_reader(slow(0.02))
    client = await serve(lambda: reader, jobs={**kept, "give_way_seconds": 10})
    file = asyncio.create_task(client.post("/v1/ocr", data=io.BytesIO(tiff(*["page"] * 15))))
    await asyncio.sleep(0.1)
    job = await accepted(client, png(page("one")))
    assert (await file).status == 200
    assert (await shown(client, job))["state"] in ("queued", "running", "done")
    assert (await ended(client, job))["state"] == "done"
