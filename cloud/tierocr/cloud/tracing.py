"""Which request a log line is about, and which trace the request belongs to (W3C Trace Context).

A caller's `traceparent` is taken up, so that one trace leads from a device through the service; who
sends none, or a malformed one, gets a new trace. Must not know about HTTP beyond that header.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass

HEADER = "traceparent"
_PARENT = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`trace`: 32 hexadecimal digits; `span`: 16, of what is done here; `parent`: of the caller's,
    None where the trace begins here. `flags`: the caller's two digits.
    """

    trace: str
    span: str
    parent: str | None = None
    flags: str = "00"

    @property
    def header(self) -> str:
        """The header that names this span."""
        return f"00-{self.trace}-{self.span}-{self.flags}"


def trace_of(header: str | None) -> Trace:
    """The span of a request that came with this header."""
    span = secrets.token_hex(8)
    found = _PARENT.fullmatch(header or "")
    if found is None:
        return Trace(trace=secrets.token_hex(16), span=span)
    version, trace, parent, flags, more = found.groups()
    # a later version may have more fields; of the first one there is nothing after the flags
    fits = version != "ff" and not (version == "00" and more)
    if not fits or trace == _NO_TRACE or parent == _NO_SPAN:
        return Trace(trace=secrets.token_hex(16), span=span)
    return Trace(trace=trace, span=span, parent=parent, flags=flags)


REQUEST: ContextVar[tuple[str, Trace] | None] = ContextVar("request", default=None)
"""The id and the trace of the request that this task works for."""
