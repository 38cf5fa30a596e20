"""Errors as RFC 9457 problem documents.

The codes are those of `tierocr.shared.errors`; this module decides only how one looks in HTTP.
"""

from __future__ import annotations

import json

from aiohttp import web

from tierocr.cloud.admission import Busy, Late
from tierocr.cloud.quotas import OverQuota
from tierocr.shared.errors import ERROR_CODES, TierocrError

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = 1
_WITH_RETRY = (429, 503, 504)
_HTTP_CODES = {404: "not_found", 413: "too_large", 415: "unsupported_format"}


def problem(
    code: str,
    detail: str,
    *,
    request_id: str,
    status: int | None = None,
    retry_after: int | None = None,
) -> web.Response:
    """The response for an error code. `status` only where HTTP has a finer one than the table."""
    spec = ERROR_CODES[code]
    status = status or spec.status
    document = {
        "type": f"urn:tierocr:error:{code}",
        "title": spec.meaning,
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": spec.retryable,
        "request_id": request_id,
    }
    response = web.Response(
        status=status,
        body=json.dumps(document, ensure_ascii=False).encode(),
        content_type=CONTENT_TYPE,
    )
    if status in _WITH_RETRY:
        response.headers["Retry-After"] = str(retry_after or RETRY_SECONDS)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="tierocr"'
    return response


def code_of(error: Exception) -> str:
    """The error code of whatever a handler raised."""
    if isinstance(error, TierocrError):
        return error.code
    if isinstance(error, web.HTTPException) and error.status < 500:
        return _HTTP_CODES.get(error.status, "bad_request")
    return "internal"


def problem_of(error: Exception, request_id: str) -> web.Response:
    """The response for whatever a handler raised; what is not expected says nothing of itself."""
    code = code_of(error)
    if isinstance(error, TierocrError):
        retry_after = error.retry_after if isinstance(error, Busy | Late | OverQuota) else None
        return problem(code, error.message, request_id=request_id, retry_after=retry_after)
    if isinstance(error, web.HTTPException):
        response = problem(code, error.reason, request_id=request_id, status=error.status)
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    return problem(
        code,
        "something broke that should not; the service's log has the details under this request id",
        request_id=request_id,
    )
