"""The routes: from HTTP to values and back.

Checks headers and sizes, asks the service, packs the answer. Decides nothing about the work, and
raises errors for the middleware to turn into problem documents.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from aiohttp import web

from tierocr.cloud.accelerators import Probe
from tierocr.cloud.answers import Chosen, answer_in, format_of, written
from tierocr.cloud.bodies import defer_continue, read_body, read_upload
from tierocr.cloud.calls import CALL, Call, idempotency_key
from tierocr.cloud.idempotency import AnswerStore
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.quotas import Quotas
from tierocr.cloud.service import READY, Service
from tierocr.cloud.settings import CloudSettings, JobSettings
from tierocr.shared.document import FAILED, Document
from tierocr.shared.errors import ERROR_CODES, TierocrError
from tierocr.shared.export import FORMATS as EXPORTS
from tierocr.shared.export import PICTURE_FORMATS as PICTURES
from tierocr.shared.export import Format
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    FORMATS,
    VERSION,
    RefineReply,
    RefineRequest,
    pack_reply,
    pack_request,
    unpack_request,
)

_WHOLE_NUMBER = re.compile("-?[0-9]{1,12}")
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Handlers:
    """One method a route."""

    def __init__(
        self,
        settings: CloudSettings,
        service: Service,
        metrics: Metrics,
        requests: Quotas,
        probes: Sequence[Probe] = (),
    ) -> None:
        """`requests`: what each device has left of them. `probes`: tell of the accelerators."""
        self._settings, self._service, self._metrics = settings, service, metrics
        self._requests, self._probes = requests, probes
        self._regions = Quotas(settings.quotas.regions, "regions")
        self._answers = AnswerStore[RefineReply](
            most_bytes=settings.idempotency.most_bytes,
            keep_seconds=settings.idempotency.keep_seconds,
            size=lambda reply: len(pack_reply(reply)),
            is_final=_is_final,
        )
        self._documents = AnswerStore[bytes](
            most_bytes=settings.idempotency.most_bytes,
            keep_seconds=settings.idempotency.keep_seconds,
            size=len,
        )

    def routes(self) -> list[web.RouteDef]:
        """All routes."""
        return [
            web.post("/v1/refine", self.refine, expect_handler=defer_continue),
            web.post("/v1/ocr", self.ocr, expect_handler=defer_continue),
            web.get("/v1/capabilities", self.capabilities),
            web.get("/healthz", self.live),
            web.get("/v2/health/live", self.live),
            web.get("/readyz", self.ready),
            web.get("/v2/health/ready", self.ready),
            web.get("/metrics", self.metrics),
        ]

    async def refine(self, request: web.Request) -> web.Response:
        """`POST /v1/refine`: regions in, readings out."""
        limits = self._settings.limits
        if request.content_type != CONTENT_TYPE:
            raise TierocrError("unsupported_format", f"send {CONTENT_TYPE}")
        deadline = _deadline(request, limits.refine_deadline_ms, limits.refine_deadline_max_ms)
        self._service.require_ready()
        call = request[CALL]
        self._requests.take(call.caller, 1, call.started)
        owner, retry_after = call.caller, self._service.retry_after(call.caller)
        with self._service.requests.hold(owner=owner, retry_after=retry_after):
            # A full queue is told at once, before the body is read and anything is decoded.
            self._service.require_room(owner)
            with self._service.crops.hold(owner=owner, retry_after=retry_after):
                pass
            body = await read_body(request, limits.refine_body_bytes, deadline)
            message = unpack_request(body, limits.wire())
            call.notes["regions"] = len(message.regions)
            # before a kept answer is looked up: sending again is no way around the quota
            self._regions.take(call.caller, len(message.regions), time.monotonic())
            reply = await self._answer(message, deadline, call, idempotency_key(request))
        return web.Response(body=pack_reply(reply), content_type=CONTENT_TYPE)

    async def _answer(
        self, message: RefineRequest, deadline: float, call: Call, key: str | None
    ) -> RefineReply:
        """The answer to this request, or to an earlier one with the same key and content."""

        async def work() -> RefineReply:
            return await self._service.refine(message, deadline, call.caller)

        if key is None:
            return await work()
        # everything but the request's id, which each sending has anew
        content = pack_request(replace(message, request_id=""))
        reply = await self._answers.answer((call.caller, key), content, work, time.monotonic())
        call.notes["replayed"] = reply.request_id != message.request_id
        return replace(reply, request_id=message.request_id)

    async def ocr(self, request: web.Request) -> web.Response:
        """`POST /v1/ocr`: a file in, a document out."""
        limits, chosen = self._settings.limits, format_of(request, PICTURES)
        deadline = _deadline(request, limits.file_deadline_ms, limits.file_deadline_max_ms)
        self._service.require_ready()
        owner = request[CALL].caller
        self._requests.take(owner, 1, request[CALL].started)
        with self._service.files.hold(owner=owner, retry_after=self._service.retry_after(owner)):
            data, name = await read_upload(request, limits.file_body_bytes, deadline)
            if not data:
                raise TierocrError("bad_request", "the body is empty")
            work = partial(self._document, request[CALL], data, name, chosen, deadline)
            key = idempotency_key(request)
            if key is None:
                content = await work()
            else:
                asked = f"{chosen.name}\0{name}\0".encode("utf-8", "replace")
                digest = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
                content = await self._documents.answer(
                    (owner, key), asked + digest, work, time.monotonic()
                )
        return answer_in(chosen, content)

    async def _document(
        self, call: Call, data: bytes, name: str, chosen: Chosen, deadline: float
    ) -> bytes:
        """The document of a file in the format that was asked for."""
        document = await self._service.read_file(data, name, deadline, call.caller)
        _raise_failed(document)
        call.notes["pages"] = len(document.pages)
        if isinstance(chosen, Format):
            return await asyncio.to_thread(written, chosen, document)
        return await self._service.with_pictures(data, partial(chosen.export, document), deadline)

    async def capabilities(self, request: web.Request) -> web.Response:
        """`GET /v1/capabilities`: what runs here and what it takes."""
        info, limits, batching = self._service.info, self._settings.limits, self._settings.batching
        return web.json_response(
            {
                "protocols": [f"tierocr.refine/{VERSION}"],
                "engine": {
                    "pack": info.pack,
                    "precision": info.precision,
                    "runtime": info.runtime,
                },
                "workers": self._service.workers,
                "formats": list(FORMATS),
                "exports": [*EXPORTS, *PICTURES],
                "limits": limits.model_dump(mode="json"),
                "batching": batching.model_dump(mode="json"),
                "jobs": jobs_of(self._settings.jobs),
            }
        )

    async def live(self, request: web.Request) -> web.Response:
        """The process answers."""
        return web.json_response({"status": "live"})

    async def ready(self, request: web.Request) -> web.Response:
        """Requests are taken; merely busy is still ready."""
        self._service.require_ready()
        return web.json_response({"status": READY})

    async def metrics(self, request: web.Request) -> web.Response:
        """`GET /metrics` in the Prometheus text format."""
        usages = await asyncio.to_thread(lambda: [u for p in self._probes for u in p.read()])
        body = self._metrics.exposition(self._service.depths(), usages)
        return web.Response(body=body, headers={"Content-Type": _METRICS_TYPE})


def jobs_of(jobs: JobSettings) -> dict[str, object] | None:
    """What `/v1/capabilities` says about jobs; None where there are none."""
    if jobs.folder is None:
        return None
    pictures = list(PICTURES) if jobs.keep_files else []
    return {
        "formats": [*EXPORTS, *pictures],
        "limits": jobs.model_dump(mode="json", exclude={"folder"}),
    }


def _deadline(request: web.Request, usual_ms: int, most_ms: int) -> float:
    """The monotonic second at which the caller stops waiting."""
    text = request.headers.get("X-Deadline-Ms")
    budget = usual_ms
    if text is not None:
        if not _WHOLE_NUMBER.fullmatch(text):
            raise TierocrError("bad_request", "X-Deadline-Ms is whole milliseconds")
        budget = min(int(text), most_ms)
    if budget <= 0:
        raise TierocrError("deadline_exceeded", "the deadline has passed already")
    return request[CALL].started + budget / 1000


def _is_final(reply: RefineReply) -> bool:
    """Whether sending again could bring nothing more."""
    errors = (result.error for result in reply.results if result.error is not None)
    return not any(ERROR_CODES[error.code].retryable for error in errors)


def _raise_failed(document: Document) -> None:
    if document.status == FAILED:
        first = document.errors[0] if document.errors else None
        raise (
            TierocrError(first.code, first.message)
            if first
            else TierocrError("bad_image", "nothing could be read")
        )
