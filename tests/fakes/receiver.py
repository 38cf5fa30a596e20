"""Whoever webhooks are posted to: remembers what came, and fails when it is told to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tierocr.edge.sinks.signing import HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One that was answered with 200."""

    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def signature(self) -> str:
        return self.headers[HEADER]


@dataclass
class Receiver:
    """`answer`: number of the request -> status and headers; a status 0 hangs up."""

    url: str = ""
    answer: Callable[[int], tuple[int, dict[str, str]]] = lambda n: (200, {})
    requests: int = 0
    posts: list[Post] = field(default_factory=list)

    @property
    def finals(self) -> dict[str, set[int]]:
        """Versions of every document that came as final, by id."""
        found: dict[str, set[int]] = {}
        for post in self.posts:
            document = post.document
            if document["status"] != "provisional":
                found.setdefault(document["id"], set()).add(document["version"])
        return found


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Listen on a free port of loopback until the end of the block."""
    found = Receiver()

    async def handle(request: web.Request) -> web.StreamResponse:
        found.requests += 1
        body = await request.read()
        status, headers = found.answer(found.requests)
        if not status:
            assert request.transport is not None
            request.transport.abort()
        elif status == 200:
            found.posts.append(Post(headers=dict(request.headers), body=body))
        return web.Response(status=status or 200, headers=headers)

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/hook", handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        return runner

    async def stop(runner: web.AppRunner) -> None:
        await asyncio.sleep(0.02)  # a server closed in the middle of an accept leaks the socket
        await runner.cleanup()
        await asyncio.sleep(0.01)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="receiver")
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield found
    finally:
        asyncio.run_coroutine_threadsafe(stop(runner), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
