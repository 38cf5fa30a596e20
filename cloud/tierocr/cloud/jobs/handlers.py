"""The routes of jobs: from HTTP to the registry and back."""

from __future__ import annotations

import asyncio
import contextlib
import re
from functools import partial

from aiohttp import web

from tierocr.cloud.admission import Bound
from tierocr.cloud.answers import answer_in, format_of, written
from tierocr.cloud.bodies import defer_continue, read_parts
from tierocr.cloud.calls import CALL, idempotency_key
from tierocr.cloud.jobs.registry import JobRegistry
from tierocr.cloud.jobs.runner import JobRunner
from tierocr.cloud.jobs.states import Job
from tierocr.cloud.jobs.uploads import Upload
from tierocr.cloud.jobs.views import (
    KEEP_ALIVE,
    address_of,
    document_from,
    event_bytes,
    require_result,
    tree_of,
)
from tierocr.cloud.quotas import Quotas
from tierocr.cloud.service import RESERVE, Service
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tracing import HEADER
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import PICTURE_FORMATS, Format

_NUMBER = re.compile(r"[0-9]{1,9}")
_ONE = "/v1/jobs/{job}"


def no_jobs() -> list[web.RouteDef]:
    """The routes of a service that keeps no jobs."""

    async def refuse(request: web.Request) -> web.Response:
        raise TierocrError("not_found", "this service keeps no jobs: jobs.folder is not set")

    return [web.route("*", path, refuse) for path in ("/v1/jobs", "/v1/jobs/{rest:.*}")]


class JobHandlers:
    """One method a route."""

    def __init__(
        self,
        settings: CloudSettings,
        service: Service,
        registry: JobRegistry,
        runner: JobRunner,
        requests: Quotas,
    ) -> None:
        """`requests`: what each device has left of them."""
        self._requests = requests
        self._jobs, self._limits = settings.jobs, settings.limits
        self._service, self._registry, self._runner = service, registry, runner
        uploads, streams = settings.jobs.uploads, settings.jobs.streams
        self._uploads = Bound(uploads, "uploads of jobs", reserve=1)
        self._streams = Bound(streams, "event streams", reserve=streams // RESERVE)

    def routes(self) -> list[web.RouteDef]:
        """All routes of jobs."""
        return [
            web.post("/v1/jobs", self.create, expect_handler=defer_continue),
            web.get(_ONE, self.show),
            web.delete(_ONE, self.delete),
            web.get(f"{_ONE}/events", self.events),
            web.get(f"{_ONE}/files/{{file}}/result", self.result),
        ]

    async def create(self, request: web.Request) -> web.Response:
        """`POST /v1/jobs`: a form of files in, a place in the queue out."""
        if not request.content_type.startswith("multipart/"):
            raise TierocrError("unsupported_format", "send the files as multipart/form-data")
        key = idempotency_key(request)
        self._service.require_ready()
        owner, registry = _owner(request), self._registry
        self._requests.take(owner, 1, request[CALL].started)
        if registry.with_key(owner, key) is None:
            registry.require_quota(owner)
        with self._uploads.hold(owner=owner, retry_after=5), registry.reserve() as room:
            registry.require_room(request.content_length or 0)
            job_id, folder = registry.new_folder()
            upload = Upload(
                folder,
                registry.disk,
                room,
                most_files=self._jobs.files,
                file_bytes=self._limits.file_body_bytes,
            )
            try:
                deadline = request[CALL].started + self._jobs.upload_seconds
                await read_parts(request, self._jobs.body_bytes, deadline, upload.take)
                await upload.finish()
                job = await registry.accept(
                    job_id, owner, upload.files, key=key, digest=upload.digest
                )
            finally:
                await registry.clean_up(job_id, upload.remove)
        request[CALL].notes["files"] = len(job.files)
        return self._shown(job, status=202, headers={"Location": address_of(job)})

    async def show(self, request: web.Request) -> web.Response:
        """`GET /v1/jobs/{id}`: how far it is."""
        return self._shown(self._job(request))

    async def delete(self, request: web.Request) -> web.Response:
        """`DELETE /v1/jobs/{id}`: cancel it; of one that has ended, drop the results."""
        job = await self._registry.discard(self._job(request))
        self._runner.give_up(job.id)
        return self._shown(job)

    async def result(self, request: web.Request) -> web.Response:
        """`GET /v1/jobs/{id}/files/{n}/result`: the document in one of the export formats."""
        chosen = format_of(request, PICTURE_FORMATS if self._jobs.keep_files else None)
        job, number = self._job(request), request.match_info["file"]
        if not _NUMBER.fullmatch(number):
            raise TierocrError("not_found", "files are counted from 0")
        file = require_result(job, int(number))
        contents = await self._registry.pages(job.id, int(number))
        document = await asyncio.to_thread(document_from, file, contents)
        if isinstance(chosen, Format):
            return answer_in(chosen, await asyncio.to_thread(written, chosen, document))
        owner = _owner(request)
        with self._service.files.hold(owner=owner, retry_after=self._service.retry_after(owner)):
            data = await self._registry.read_upload(job.id, int(number))
            deadline = request[CALL].started + self._limits.file_deadline_ms / 1000
            draw = partial(chosen.export, document)
            return answer_in(chosen, await self._service.with_pictures(data, draw, deadline))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """`GET /v1/jobs/{id}/events`: what happens, as it happens, and what happened before."""
        job, after = self._job(request), _last_event(request)
        if job.finished and after >= job.events:
            return web.Response(status=204)  # tells an EventSource not to come again
        with self._streams.hold(owner=_owner(request), retry_after=5):
            response = web.StreamResponse(
                headers={
                    "Content-Type": "text/event-stream; charset=utf-8",
                    "Cache-Control": "no-cache",
                    "X-Accel-Buffering": "no",
                    "X-Request-Id": request[CALL].id,
                    HEADER: request[CALL].trace.header,
                }
            )
            with contextlib.suppress(ConnectionResetError):  # the client has gone
                await response.prepare(request)
                await self._tell(response, job.id, after)
                await response.write_eof()
        return response

    async def _tell(self, response: web.StreamResponse, job: str, after: int) -> None:
        """Write events until the job has ended, or the service stops."""
        with self._registry.watch(job) as changed:
            while True:
                changed.clear()
                for event in await self._registry.events(job, after):
                    await response.write(event_bytes(event))
                    after = event.id
                try:
                    now = self._registry.find(job)
                except TierocrError:  # forgotten meanwhile
                    return
                if self._registry.stopping or (now.finished and after >= now.events):
                    return
                try:
                    await asyncio.wait_for(changed.wait(), self._jobs.keep_alive_seconds)
                except asyncio.TimeoutError:
                    await response.write(KEEP_ALIVE)

    def _job(self, request: web.Request) -> Job:
        return self._registry.get(_owner(request), request.match_info["job"])

    def _shown(
        self, job: Job, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> web.Response:
        tree = tree_of(job, self._registry.outlook(job))
        return web.json_response(tree, status=status, headers=headers)


def _owner(request: web.Request) -> str:
    return request[CALL].caller


def _last_event(request: web.Request) -> int:
    """The id after which the caller wants events. Raises TierocrError `bad_request`."""
    text = request.headers.get("Last-Event-ID") or "0"
    if not _NUMBER.fullmatch(text):
        raise TierocrError("bad_request", "Last-Event-ID is a whole number")
    return int(text)
