"""A refinement service that does what it is told, right or nasty.

It runs on a loop and a thread of its own, so that it serves asyncio tests, command lines and
processes alike. Each request takes the next answer; the last answer stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tierocr.shared.document import EngineInfo
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    Refined,
    RefinedChar,
    RefineReply,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_reply,
    unpack_request,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request as it came in; `at` in seconds of the monotonic clock."""

    headers: Mapping[str, str]
    body: bytes
    message: RefineRequest
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCall:
    """A whole page as it came in."""

    headers: Mapping[str, str]
    body: bytes
    at: float


FileAnswer = Callable[[FileCall], Awaitable[web.StreamResponse]]
Answer = Callable[[web.Request, Call], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class FakeCloud:
    """Where it listens and what it was asked."""

    url: str
    calls: list[Call] = field(default_factory=list)
    files: list[FileCall] = field(default_factory=list)

    def wait_for_calls(self, count: int) -> None:
        """Block until so many came in."""
        limit = time.monotonic() + 10
        while len(self.calls) < count:
            assert time.monotonic() < limit
            time.sleep(0.01)

    @property
    def lines(self) -> list[str]:
        """The edge's text of every line that came in."""
        return [region.text for call in self.calls for region in call.message.regions]


@contextmanager
def fake_cloud(*answers: Answer, files: Sequence[FileAnswer] = ()) -> Iterator[FakeCloud]:
    """Serve on a free port of loopback until the end of the block. `files`: answers to whole
    pages.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake cloud")
    thread.start()
    cloud = FakeCloud(url="")
    opened: set[asyncio.BaseTransport] = set()
    runner = _runner(cloud, answers, files, opened)
    try:
        port = asyncio.run_coroutine_threadsafe(_listen(runner), loop).result(10)
        cloud.url = f"http://127.0.0.1:{port}"
        yield cloud
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner, opened), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _runner(
    cloud: FakeCloud,
    answers: Sequence[Answer],
    files: Sequence[FileAnswer],
    opened: set[asyncio.BaseTransport],
) -> web.AppRunner:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            opened.add(request.transport)
        body = await request.read()
        call = Call(
            headers=request.headers,
            body=body,
            message=unpack_request(body, WireLimits()),
            at=time.monotonic(),
        )
        cloud.calls.append(call)
        return await answers[min(len(cloud.calls), len(answers)) - 1](request, call)

    async def read(request: web.Request) -> web.StreamResponse:
        call = FileCall(headers=request.headers, body=await request.read(), at=time.monotonic())
        cloud.files.append(call)
        return await files[min(len(cloud.files), len(files)) - 1](call)

    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/refine", handle)
    if files:
        app.router.add_post("/v1/ocr", read)
    return web.AppRunner(app, shutdown_timeout=0.01, access_log=None)


async def _listen(runner: web.AppRunner) -> int:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port: int = runner.addresses[0][1]
    return port


async def _stop(runner: web.AppRunner, opened: set[asyncio.BaseTransport]) -> None:
    await asyncio.sleep(0.02)  # a server closed in the middle of an accept leaks the socket
    await runner.cleanup()
    for transport in opened:  # one whose client does not read would never close by itself
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.sleep(0.01)


# -- readings ----------------------------------------------------------------------------------


def reading(region_id: str, text: str, *, score: float = 0.99, **more: object) -> Refined:
    """An answer whose characters stand at even distances."""
    chars = tuple(
        RefinedChar(text=c, score_raw=score, start=i / len(text), end=(i + 1) / len(text))
        for i, c in enumerate(text)
    )
    fields = {"chars": chars, "score_raw": score, "confidence": score, **more}
    return Refined(id=region_id, text=text, **fields)  # type: ignore[arg-type]


def packed(call: Call, results: Sequence[Refined], *, request_id: str | None = None) -> bytes:
    """A reply to a call."""
    engine = EngineInfo(pack="fake", precision="f32", runtime="fake 1.0 CPU")
    return pack_reply(
        RefineReply(
            request_id=call.message.request_id if request_id is None else request_id,
            engine=engine,
            results=tuple(results),
            timings={"infer_ms": 1.0},
        )
    )


def shout(region: RegionImage) -> Refined:
    """What the edge read, in capitals."""
    return reading(region.id, region.text.upper())


# -- answers -----------------------------------------------------------------------------------


def results(make: Callable[[RefineRequest], Sequence[Refined]]) -> Answer:
    """Whatever the function makes of the request."""

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        return web.Response(body=packed(call, make(call.message)), content_type=CONTENT_TYPE)

    return answer


right = results(lambda message: [shout(r) for r in message.regions])


def body(make: bytes | Callable[[Call], bytes], content_type: str = CONTENT_TYPE) -> Answer:
    """Status 200 with these bytes."""

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        content = make if isinstance(make, bytes) else make(call)
        return web.Response(body=content, content_type=content_type)

    return answer


def file_answer(
    content: bytes | Callable[[FileCall], bytes], code: int = 200, **headers: str
) -> FileAnswer:
    """These bytes for a whole page; underscores in header names stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(call: FileCall) -> web.StreamResponse:
        made = content if isinstance(content, bytes) else content(call)
        return web.Response(status=code, body=made, headers=named)

    return answer


def status(code: int, content: bytes = b"", **headers: str) -> Answer:
    """A bare status; underscores in header names stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        return web.Response(status=code, body=content, headers=named)

    return answer


def problem(code: int, document: object, *, charset: str = "", **headers: str) -> Answer:
    """A problem document, or bytes that pretend to be one."""
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    kind = "application/problem+json" + (f"; charset={charset}" if charset else "")
    return status(code, content, Content_Type=kind, **headers)


def wire(content: bytes) -> Answer:
    """These bytes in place of HTTP, then the end of the connection."""

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(content)
        request.transport.close()
        return web.Response()

    return answer


async def hang_up(request: web.Request, call: Call) -> web.StreamResponse:
    """Reset the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hang(request: web.Request, call: Call) -> web.StreamResponse:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def hang_midway(request: web.Request, call: Call) -> web.StreamResponse:
    """Begin a right answer and never end it."""
    await _begin(request, call)
    return await hang(request, call)


async def reset_midway(request: web.Request, call: Call) -> web.StreamResponse:
    """Begin a right answer and reset the connection."""
    response = await _begin(request, call)
    assert request.transport is not None
    request.transport.abort()
    return response


async def bad_gzip(request: web.Request, call: Call) -> web.StreamResponse:
    """A right answer whose compressed form was damaged."""
    content = bytearray(gzip.compress(packed(call, [shout(r) for r in call.message.regions])))
    content[12:20] = bytes(8)
    return web.Response(body=bytes(content), headers={"Content-Encoding": "gzip"})


def endless(code: int, content_type: str) -> Answer:
    """A body that never ends, sent as fast as a slow line allows."""

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        response = web.StreamResponse(status=code, headers={"Content-Type": content_type})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(bytes(1 << 16))
                await asyncio.sleep(0.02)
        return response

    return answer


def after(seconds: float, then: Answer) -> Answer:
    """An answer that takes its time."""

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, call)

    return answer


async def _begin(request: web.Request, call: Call) -> web.StreamResponse:
    content = packed(call, [shout(r) for r in call.message.regions])
    response = web.StreamResponse(headers={"Content-Length": str(len(content))})
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    return response
