"""What the parts of the HTTP side know about one request while it is answered."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from aiohttp import web

from tierocr.cloud.tracing import Trace, trace_of
from tierocr.shared.errors import TierocrError

_KEY = re.compile("[!-~]{1,255}")


@dataclass(slots=True)
class Call:
    """`started`: monotonic second at which it came. `trace`: its span. `caller`: the device that
    its token is of. `notes`: what its log line should add.

    `continued`: the client was told to send the body that it announced. `code`: "ok", or the error
    code that it was answered with.
    """

    id: str
    trace: Trace = field(default_factory=lambda: trace_of(None))
    started: float = field(default_factory=time.monotonic)
    caller: str = "anonymous"
    notes: dict[str, object] = field(default_factory=dict)
    continued: bool = False
    code: str = "ok"


CALL = web.RequestKey("call", Call)


def idempotency_key(request: web.Request) -> str | None:
    """The Idempotency-Key, if the client sent one. Raises TierocrError `bad_request`."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _KEY.fullmatch(key):
        raise TierocrError("bad_request", "Idempotency-Key is up to 255 visible characters")
    return key
