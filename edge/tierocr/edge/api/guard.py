"""Who may ask, and how failures are told: what every request passes through.

Must not know what a route does. A page in a browser on the same machine must not get at the API:
requests under another host name than this machine's, or of another origin, are refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import time
import uuid
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tierocr.edge.api.exposition import Metrics
from tierocr.shared.errors import ERROR_CODES, TierocrError

CONTENT_TYPE = "application/problem+json"
OPEN = ("/healthz", "/readyz")
_LOCAL = "localhost"
_BY_STATUS = {404: "not_found", 413: "too_large", 415: "unsupported_format"}
_log = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Whether an address, or name, is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == _LOCAL


def guard(metrics: Metrics, *, token: str | None, local: bool) -> Middleware:
    """`token`: what must be sent but for health; `local`: the API is for this machine alone."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        started, code = time.monotonic(), "ok"
        resource = request.match_info.route.resource
        route = resource.canonical if resource is not None else "unmatched"
        try:
            _check(request, token, local)
            response = await handler(request)
        except Exception as error:  # whatever it is, the client gets a problem document
            code = _code(error)
            request_id = uuid.uuid4().hex
            if code == "internal":
                _log.error("request %s failed", request_id, exc_info=error)
            response = _problem(error, code, request_id)
        metrics.request(route, code, time.monotonic() - started)
        return response

    return middleware


def _check(request: web.Request, token: str | None, local: bool) -> None:
    if local and not is_loopback(_parts(f"//{request.host}").hostname or ""):
        raise TierocrError("unauthorized", "this API is for this machine, under its own name")
    origin = request.headers.get("Origin")
    if origin is not None and _parts(origin).netloc != request.host:
        raise TierocrError("unauthorized", "requests of other origins are not answered")
    if token is not None and request.path not in OPEN:
        scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
        # a header may hold bytes that are no text
        known = hmac.compare_digest(sent.encode(errors="surrogateescape"), token.encode())
        if scheme.lower() != "bearer" or not known:
            raise TierocrError("unauthorized", "send Authorization: Bearer with the API's token")


def _parts(url: str) -> SplitResult:
    """Of an address; empty ones of what is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _code(error: Exception) -> str:
    if isinstance(error, TierocrError):
        return error.code
    if isinstance(error, web.HTTPException) and error.status < 500:
        return _BY_STATUS.get(error.status, "bad_request")
    return "internal"


def _problem(error: Exception, code: str, request_id: str) -> web.Response:
    """RFC 9457; what is not expected says nothing of itself."""
    spec, detail = ERROR_CODES[code], "something broke that should not; the log has the details"
    status = spec.status
    if isinstance(error, TierocrError):
        detail = error.message
    elif isinstance(error, web.HTTPException):
        status, detail = error.status, error.reason
    document = {
        "type": f"urn:tierocr:error:{code}",
        "title": spec.meaning,
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": spec.retryable,
        "request_id": request_id,
    }
    body = json.dumps(document, ensure_ascii=False).encode(errors="backslashreplace")
    response = web.Response(status=status, body=body, content_type=CONTENT_TYPE)
    if status in (503, 504):
        response.headers["Retry-After"] = "1"
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="tierocr"'
    return response
