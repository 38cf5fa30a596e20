"""Reading what a client sends: within a size, within a time.

Sizes count after decompression, and a body that announces too much is refused before it is read.
What is left of a refused body the server reads away after the answer, so that the client sees the
answer and may go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import BodyPartReader, ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from tierocr.cloud.calls import CALL
from tierocr.shared.errors import TierocrError

FILE_FIELD = "file"
_CHUNK = 1 << 16
_FORM_OVERHEAD = 1 << 20
_PART_COST = 256
_LONGEST_NAME = 255
R = TypeVar("R")


async def read_body(request: web.Request, limit: int, deadline: float) -> bytes:
    """The whole body. Raises TierocrError `too_large`, `deadline_exceeded`, `bad_request`
    or, when the client goes, `cancelled`.
    """
    _check_announced(request, limit)
    return await _in_time(_read(request, limit), deadline)


async def read_upload(request: web.Request, limit: int, deadline: float) -> tuple[bytes, str]:
    """A file and its name: the body itself, or the field `file` of a form.

    Raises like `read_body`.
    """
    if not request.content_type.startswith("multipart/"):
        return await read_body(request, limit, deadline), "document"
    _check_announced(request, limit)
    return await _in_time(_read_form(request, limit), deadline)


class Part:
    """One part of a form, read in chunks so that nothing is held whole. `filename`: what its sender
    calls it, None for a field that is no file.
    """

    def __init__(self, part: BodyPartReader, budget: Budget) -> None:
        """`budget`: what all parts share."""
        self._part, self._budget = part, budget
        self.filename = part.filename

    async def read(self) -> bytes:
        """The next chunk, empty at the end. Raises TierocrError `too_large`."""
        chunk: bytes = await self._part.read_chunk(_CHUNK)
        self._budget.spend(len(chunk))
        return chunk


class Budget:
    """A number of bytes that may come."""

    def __init__(self, most: int) -> None:
        """All of it is left."""
        self._most = self._left = most

    def spend(self, count: int) -> None:
        """So many have come. Raises TierocrError `too_large`."""
        self._left -= count
        if self._left < 0:
            raise _too_large(self._most)


async def read_parts(
    request: web.Request, limit: int, deadline: float, take: Callable[[Part], Awaitable[None]]
) -> None:
    """Hand each part of a form to `take`; what that leaves of a part is skipped. `limit` bounds all
    parts together.

    Raises like `read_body`, and whatever `take` raises.
    """
    _check_announced(request, limit + _FORM_OVERHEAD)
    await _in_time(_hand_over(request, Budget(limit), take), deadline)


async def _hand_over(
    request: web.Request, budget: Budget, take: Callable[[Part], Awaitable[None]]
) -> None:
    await _send_continue(request)
    form = await request.multipart()
    while (found := await form.next()) is not None:
        if not isinstance(found, BodyPartReader):
            raise TierocrError("bad_request", "forms inside forms are not read")
        budget.spend(_PART_COST)  # or empty parts could come without end
        part = Part(found, budget)
        await take(part)
        while await part.read():
            pass


def _check_announced(request: web.Request, limit: int) -> None:
    """Raise TierocrError `too_large` when the announced length is over the limit."""
    if request.content_length is not None and request.content_length > limit:
        raise _too_large(limit)


async def defer_continue(request: web.Request) -> None:
    """Answer `Expect: 100-continue` not yet, but when the body is read: a client that is turned
    away then never sends it.
    """


def was_left_out(request: web.Request) -> bool:
    """Whether the client was never told to send the body that it announced."""
    return "Expect" in request.headers and not request[CALL].continued


async def _send_continue(request: web.Request) -> None:
    if was_left_out(request):
        request[CALL].continued = True
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _read(request: web.Request, limit: int) -> bytes:
    await _send_continue(request)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


async def _read_form(request: web.Request, limit: int) -> tuple[bytes, str]:
    await _send_continue(request)
    left = limit
    form = await request.multipart()
    while (part := await form.next()) is not None:
        if not isinstance(part, BodyPartReader):
            raise TierocrError("bad_request", "forms inside forms are not read")
        body = bytearray()
        while chunk := await part.read_chunk(_CHUNK):
            body += chunk
            if len(body) > left:
                raise _too_large(limit)
        if part.name == FILE_FIELD:
            return bytes(body), (part.filename or "document")[:_LONGEST_NAME]
        left -= len(body)
    raise TierocrError("bad_request", f"the form has no field {FILE_FIELD!r}")


async def _in_time(reading: Awaitable[R], deadline: float) -> R:
    try:
        return await asyncio.wait_for(reading, max(0.0, deadline - time.monotonic()))
    except asyncio.TimeoutError as error:
        raise TierocrError("deadline_exceeded", "the body did not arrive in time") from error
    except ConnectionError as error:
        raise TierocrError("cancelled", "the client has gone while its body came") from error
    except (web.RequestPayloadError, ClientPayloadError, HttpProcessingError, ValueError) as error:
        raise TierocrError("bad_request", f"the body cannot be read: {error}") from error


def _too_large(limit: int) -> TierocrError:
    return TierocrError("too_large", f"the body is over {limit} bytes")
