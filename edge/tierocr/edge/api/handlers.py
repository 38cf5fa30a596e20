"""The routes: from HTTP to the agent's parts and back. Decides nothing about the work."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aiohttp import BodyPartReader, web

from tierocr.edge.api.exposition import Metrics
from tierocr.edge.api.health import Condition, readiness
from tierocr.edge.api.recent import Recent
from tierocr.edge.intake import ReadingIntake
from tierocr.edge.outbox.states import RECEIVED, Entry
from tierocr.edge.outbox.threaded import ThreadedOutbox
from tierocr.edge.outbox.values import Arrival, document_id
from tierocr.edge.settings import EdgeSettings
from tierocr.edge.tiering import TieredReader
from tierocr.shared.document import EngineInfo
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.json import to_json
from tierocr.shared.models.manifest import load_pack
from tierocr.shared.models.store import list_packs

SOURCE = "api"
AT_ONCE = 4
"""Files being taken in at once; more are told to come again."""

KEEP_ALIVE = 15.0
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the routes speak to. `condition`: how the agent is; `uploaded`: bytes so far."""

    settings: EdgeSettings
    engine: EngineInfo
    intake: ReadingIntake
    reader: TieredReader
    outbox: ThreadedOutbox
    recent: Recent
    metrics: Metrics
    condition: Callable[[], Awaitable[Condition]]
    uploaded: Callable[[], int]


class Handlers:
    """One method a route."""

    def __init__(self, parts: Parts) -> None:
        """See `Parts`."""
        self._parts = parts
        self._taking = 0

    def routes(self) -> list[web.RouteDef]:
        """All routes."""
        return [
            web.get("/healthz", self.live),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.metrics),
            web.post("/v1/ocr", self.ocr),
            web.get("/v1/jobs/{id}", self.job),
            web.get("/v1/events", self.events),
            web.get("/v1/config", self.config),
            web.get("/v1/models", self.models),
        ]

    async def live(self, request: web.Request) -> web.Response:
        """The process answers."""
        return web.json_response({"status": "live"})

    async def ready(self, request: web.Request) -> web.Response:
        """Documents are taken; without a cloud too."""
        ready, detail = readiness(await self._parts.condition())
        return web.json_response(detail, status=200 if ready else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """`GET /metrics` in the Prometheus text format."""
        condition = await self._parts.condition()
        body = self._parts.metrics.exposition(condition, self._parts.uploaded())
        return web.Response(body=body, headers={"Content-Type": _METRICS_TYPE})

    async def ocr(self, request: web.Request) -> web.Response:
        """`POST /v1/ocr`: a file in; the document as it is read here out. It goes to every sink
        too, and its refined version is found under `Location`.
        """
        settings = self._parts.settings
        async with self._taken():
            try:
                key, body = await asyncio.wait_for(
                    self._read(request, settings.reading.max_bytes), settings.api.deadline_seconds
                )
            except asyncio.TimeoutError as error:
                message = "the document could not be taken in time"
                raise TierocrError("deadline_exceeded", message) from error
        headers = {"Location": f"/v1/jobs/{key}"}
        return web.Response(body=body, content_type=_JSON, headers=headers)

    async def job(self, request: web.Request) -> web.Response:
        """`GET /v1/jobs/{id}`: how far a document is, and its newest version while it is known."""
        key = request.match_info["id"]
        entry = await self._parts.outbox.call(lambda box: box.incoming.find(key))
        if entry is None:
            raise TierocrError("not_found", "there is no such document")
        kept = self._parts.recent.find(key)
        body = {**_told(entry), "document": json.loads(kept) if kept is not None else None}
        return web.json_response(body)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """`GET /v1/events`: a server-sent event for each version of a document from now on."""
        with self._parts.recent.listening() as listener:
            if listener is None:
                raise TierocrError("over_capacity", "too many are listening already")
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
            )
            await response.prepare(request)
            await response.write(b": listening\n\n")
            while True:
                try:
                    news = await asyncio.wait_for(listener.get(), KEEP_ALIVE)
                except asyncio.TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                if news is None:
                    return response
                data = json.dumps(dataclasses.asdict(news), ensure_ascii=False)
                await response.write(f"event: document\ndata: {data}\n\n".encode())

    async def config(self, request: web.Request) -> web.Response:
        """`GET /v1/config`: the settings in force; what is secret is masked."""
        return web.json_response(masked(self._parts.settings.model_dump(mode="json")))

    async def models(self, request: web.Request) -> web.Response:
        """`GET /v1/models`: what reads, and the packs that can be found."""
        return web.json_response(
            {
                "engine": dataclasses.asdict(self._parts.engine),
                "packs": await asyncio.to_thread(_packs),
            }
        )

    async def _read(self, request: web.Request, limit: int) -> tuple[str, bytes]:
        data, name = await _upload(request, limit)
        key, _ = await asyncio.to_thread(document_id, data)
        known = await self._parts.outbox.call(lambda box: box.incoming.find(key))
        kept = self._parts.recent.find(key)
        if kept is None and known is not None and known.state != RECEIVED:
            # it was here before, and its result is gone: it is read again, and only told
            planned = await self._parts.reader.read_here(data, name, SOURCE, send=False)
            return key, to_json(planned.document).encode(errors="backslashreplace")
        if kept is None:
            arrival = Arrival(source=SOURCE, name=name)
            objection = await self._parts.intake.take(arrival, data, last=True)
            if objection is not None:
                raise TierocrError(objection.failure.code, objection.failure.message)
            kept = await self._parts.recent.wait_for(key)
        return key, kept

    @asynccontextmanager
    async def _taken(self) -> AsyncIterator[None]:
        if self._taking >= AT_ONCE:
            raise TierocrError("over_capacity", f"{AT_ONCE} files are being read already")
        self._taking += 1
        try:
            yield
        finally:
            self._taking -= 1


def masked(values: Any, key: str = "") -> Any:
    """Settings without what an address may hold of names, passwords and tokens."""
    if isinstance(values, dict):
        return {k: masked(v, k) for k, v in values.items()}
    if isinstance(values, list):
        return [masked(v, key) for v in values]
    if key == "url" and isinstance(values, str):
        parts = urlsplit(values)
        host = parts.netloc.rpartition("@")[2]
        query = "…" if parts.query else ""
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    return values


async def _upload(request: web.Request, limit: int) -> tuple[bytes, str]:
    """The body itself, or the field `file` of a form. Raises TierocrError `too_large` or
    `bad_request`.
    """
    if request.content_length is not None and request.content_length > limit + (1 << 20):
        raise TierocrError("too_large", f"the body is over {limit} bytes")
    data, name = bytearray(), "document"
    if request.content_type.startswith("multipart/"):
        form = await request.multipart()
        part = await form.next()
        while part is not None and not (isinstance(part, BodyPartReader) and part.name == "file"):
            part = await form.next()
        if part is None:
            raise TierocrError("bad_request", "the form has no field 'file'")
        name = (part.filename or name)[:255]
        while chunk := await part.read_chunk(1 << 16):
            _add(data, chunk, limit)
    else:
        async for chunk in request.content.iter_any():
            _add(data, chunk, limit)
    if not data:
        raise TierocrError("bad_request", "the body is empty")
    return bytes(data), name


def _add(data: bytearray, chunk: bytes, limit: int) -> None:
    if len(data) + len(chunk) > limit:
        raise TierocrError("too_large", f"the file is over {limit} bytes")
    data += chunk


def _told(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name.encode(errors="backslashreplace").decode(),
        "source": entry.source,
        "state": entry.state,
        "version": entry.version,
        "final": entry.final,
        "waiting_pages": entry.waiting,
        "reason": entry.reason,
    }


def _packs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, folder in sorted(list_packs().items()):
        try:
            manifest = load_pack(folder).manifest
        except TierocrError as error:
            found.append({"name": name, "error": error.message})
        else:
            found.append({"name": name, "version": manifest.version, "licence": manifest.licence})
    return found
