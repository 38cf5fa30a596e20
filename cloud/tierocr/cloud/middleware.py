"""What every request passes through: its id, its log line, its metrics, its errors, its token.

Must not know what a route does.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
import uuid

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tierocr.cloud.bodies import was_left_out
from tierocr.cloud.calls import CALL, Call
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.problems import code_of, problem_of
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tokens import TokenFile
from tierocr.cloud.tracing import HEADER, REQUEST, trace_of
from tierocr.shared.errors import TierocrError

OPEN = frozenset({"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"})
_CLIENT_GONE = 499
_ID = re.compile(r"[!-~]{1,200}")
_SHED = ("over_capacity", "rate_limited", "unavailable")
_requests = logging.getLogger("tierocr.cloud.requests")
_log = logging.getLogger(__name__)


def envelope(metrics: Metrics) -> Middleware:
    """Gives a request its id, turns what is raised into problem documents, counts and logs."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("X-Request-Id", "")
        call = Call(
            id=given if _ID.fullmatch(given) else uuid.uuid4().hex,
            trace=trace_of(request.headers.get(HEADER)),
        )
        request[CALL] = call
        REQUEST.set((call.id, call.trace))
        try:
            response = await handler(request)
        except asyncio.CancelledError:  # the client has gone
            call.code = "cancelled"
            _record(request, metrics, _CLIENT_GONE)
            raise
        except Exception as error:  # whatever it is, the client gets a problem document
            call.code = code_of(error)
            if call.code == "internal":
                _log.error("request %s failed", call.id, exc_info=error)
            if call.code in _SHED:
                metrics.shed(call.code)
            response = problem_of(error, call.id)
        if was_left_out(request):
            response.force_close()  # whether its body still comes, nobody can tell
        if not response.prepared:  # else they went with the first bytes
            response.headers["X-Request-Id"] = call.id
            response.headers[HEADER] = call.trace.header
        _record(request, metrics, response.status)
        return response

    return middleware


def authentication(settings: CloudSettings, tokens: TokenFile | None) -> Middleware:
    """Lets only those through who may use the route; health is open to all."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = _route(request)
        if route is not None and route not in OPEN:
            call = request[CALL]
            call.caller = call.notes["caller"] = _caller(request, route, settings, tokens)
        return await handler(request)

    return middleware


def _caller(
    request: web.Request, route: str, settings: CloudSettings, tokens: TokenFile | None
) -> str:
    """Who asks. Raises TierocrError `unauthorized`."""
    secret = _bearer(request)
    owner = tokens.owner(secret) if tokens is not None and secret else None
    if owner is not None:
        return owner
    access = settings.metrics.access if route == "/metrics" else "token"
    if access == "anyone" or (access == "loopback" and _is_local(request)):
        return "anonymous"
    # A token that is wrong is an error even where none is asked for.
    if settings.auth.allow_anonymous and (secret is None or tokens is None):
        return "anonymous"
    raise TierocrError("unauthorized", "send Authorization: Bearer with a token that is in force")


def _bearer(request: web.Request) -> str | None:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _is_local(request: web.Request) -> bool:
    """Whether the connection itself comes from this machine; forwarded addresses are hearsay."""
    try:
        return ipaddress.ip_address(request.remote or "").is_loopback
    except ValueError:
        return False


def _record(request: web.Request, metrics: Metrics, status: int) -> None:
    call, route = request[CALL], _route(request) or "unmatched"
    seconds = time.monotonic() - call.started
    metrics.request(route, call.code, seconds)
    fields = {
        "request_id": call.id,
        "trace_id": call.trace.trace,
        "span_id": call.trace.span,
        "parent_id": call.trace.parent,
        "method": request.method,
        "route": route,
        "status": status,
        "code": call.code,
        "duration_ms": round(1000 * seconds, 2),
        "body_bytes": request.content_length,
        **call.notes,
    }
    _requests.info("request", extra={"fields": fields})


def _route(request: web.Request) -> str | None:
    """The route's path as it was registered, None where there is none."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else None
