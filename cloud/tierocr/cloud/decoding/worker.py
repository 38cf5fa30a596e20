"""A decoder process: `python -m tierocr.cloud.decoding.worker SOCKET INBOX OUTBOX MEMORY SECONDS`.

Reads files from the memory behind the descriptor INBOX, writes one page at a time behind OUTBOX,
and ends when its socket does. It holds itself to so many bytes of MEMORY beyond what it needs to
start, and dies when a request takes it much more than SECONDS, should nobody be left to stop it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tierocr.cloud.decoding.messages import (
    LENGTH_BYTES,
    End,
    Open,
    Opened,
    Refused,
    Reply,
    framed,
    header_of,
    length_of,
    pack_reply,
    unpack_request,
)
from tierocr.shared.document import Failure, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

Pages = Iterator[PageImage | PageFailure]
Decode = Callable[[bytes, Limits, int], Pages]
_PATIENCE = 3
_FALLBACK_BASE = 1 << 30


def main(decode: Decode | None = None) -> None:
    """Serve until the socket closes. `decode`: what decodes (bytes, limits, first page)."""
    descriptor, inbox, outbox, memory, seconds = (int(a) for a in sys.argv[1:6])
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the service, which ends this one
        signal.signal(number, signal.SIG_IGN)
    _limit_memory(memory)
    with socket.socket(fileno=descriptor) as connection:
        Worker(inbox, outbox, decode or _decode).serve(connection, _PATIENCE * seconds)


class Worker:
    """Answers one request after the other."""

    def __init__(self, inbox: int, outbox: int, decode: Decode) -> None:
        """`inbox`, `outbox`: descriptors of shared memory."""
        self._inbox, self._outbox, self._decode = inbox, outbox, decode
        self._pages: Pages = iter(())
        self._file = Open(size=0, first=0, limits=Limits())
        self._data = b""
        self._next = 0

    def serve(self, connection: socket.socket, alarm: int) -> None:
        """Until the other side hangs up. A request that takes `alarm` seconds is the last one."""
        while (prefix := _receive(connection, LENGTH_BYTES)) is not None:
            request = unpack_request(_receive(connection, length_of(prefix)) or b"{}")
            signal.alarm(alarm)
            reply = self._open(request) if request is not None else self._page()
            signal.alarm(0)
            connection.sendall(framed(pack_reply(reply)))

    def _open(self, request: Open) -> Reply:
        self._file, self._next = request, request.first
        self._pages, self._data = iter(()), b""
        try:
            self._data = _read_all(self._inbox, request.size)
            count = page_count(self._data, request.limits)
            self._pages = self._decode(self._data, request.limits, request.first)
        except Exception as error:
            return Refused(failure=_failure(error))
        return Opened(count=count)

    def _page(self) -> Reply:
        os.ftruncate(self._outbox, 0)
        try:
            item = next(self._pages, None)
            if item is None:
                self._data = b""
                return End()
            self._next = item.index + 1
            if isinstance(item, PageFailure):
                return item
            _write_all(self._outbox, np.ascontiguousarray(item.pixels).data.cast("B"))
            return header_of(item)
        except TierocrError as error:
            return Refused(failure=_failure(error))
        except Exception as error:  # the page's own; the others go on
            failed = PageFailure(index=self._next, failure=_failure(error))
            self._next += 1
            self._pages = self._decode(self._data, self._file.limits, self._next)
            return failed


def _decode(data: bytes, limits: Limits, first: int) -> Pages:
    return decode_pages(data, limits=limits, first=first)


def _failure(error: Exception) -> Failure:
    if isinstance(error, TierocrError):
        return Failure(code=error.code, message=error.message)
    if isinstance(error, MemoryError):
        return Failure(code="too_large", message="it needs more memory than a decoder may have")
    return Failure(code="internal", message=f"the decoder failed: {type(error).__name__}")


def _limit_memory(most: int) -> None:
    """Allow so many bytes more than are in use now, where the system can do that."""
    try:
        import resource
    except ImportError:  # Windows
        return
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        base = pages * resource.getpagesize()
    except (OSError, ValueError):
        base = _FALLBACK_BASE
    for kind, value in (
        (resource.RLIMIT_AS, base + most),
        (resource.RLIMIT_FSIZE, most),  # shared memory counts as a file
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _receive(connection: socket.socket, size: int) -> bytes | None:
    """Exactly so many bytes, None when the other side has hung up."""
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _read_all(descriptor: int, size: int) -> bytes:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size and (got := os.preadv(descriptor, [view[at:]], at)):
        at += got
    return bytes(data)


def _write_all(descriptor: int, data: memoryview) -> None:
    at = 0
    while at < len(data):
        at += os.pwrite(descriptor, data[at:], at)


if __name__ == "__main__":
    main()
