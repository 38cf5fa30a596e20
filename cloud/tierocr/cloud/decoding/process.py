"""One decoder process, as the service sees it.

What passes between the two are small checked messages over a socket, and bytes in anonymous shared
memory that has no name: it goes with its last user, however that one ends. Pages are copied out,
so whatever the process does to the memory afterwards changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from tierocr.cloud.decoding.messages import LENGTH_BYTES, PageHeader, framed, length_of
from tierocr.cloud.decoding.source import Check
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError

COMMAND = (sys.executable, "-m", "tierocr.cloud.decoding.worker")
_START_SECONDS = 60.0
_LOOK_UP = 0.2
_ENVIRON = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}


class Lost(TierocrError):
    """The process is no longer there, or cannot be trusted. `reason`: `time`, `killed`, `crashed`
    or `strange`.
    """

    def __init__(self, code: str, message: str, reason: str) -> None:
        """See the class."""
        super().__init__(code, message)
        self.reason = reason


class DecoderProcess:
    """Owned by one thread at a time; `kill` may come from any."""

    def __init__(self, command: Sequence[str], *, memory_bytes: int, page_seconds: float) -> None:
        """Start it. Raises TierocrError `internal` when that does not work."""
        self._page_seconds = page_seconds
        self._deadline: float | None = None
        self._fresh = True
        self._inbox, self._outbox = os.memfd_create("inbox"), os.memfd_create("outbox")
        self._socket, theirs = socket.socketpair()
        environ = {k: v for k, v in os.environ.items() if not k.startswith("TIEROCR_")}
        handles = (theirs.fileno(), self._inbox, self._outbox)
        numbers = (*handles, memory_bytes, max(1, round(page_seconds)))
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [*command, *(str(n) for n in numbers)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=handles,
                    env=environ | _ENVIRON,
                )
        except OSError as error:
            self._close()
            raise TierocrError("internal", f"no decoder can be started: {error}") from error

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def busy(self) -> bool:
        """Whether it was asked something and has not been heard since."""
        return self._deadline is not None

    def put(self, data: bytes) -> None:
        """Lay a file into the shared memory. Raises TierocrError `over_capacity`."""
        try:
            os.ftruncate(self._inbox, 0)
            view, at = memoryview(data), 0
            while at < len(view):
                at += os.pwrite(self._inbox, view[at:], at)
        except OSError as error:
            raise TierocrError("over_capacity", f"no memory for the file: {error}") from error

    def ask(self, message: bytes) -> None:
        """Send a request; the time that it may take begins now. That nobody listens is learned
        from `answer`.
        """
        extra, self._fresh = (_START_SECONDS if self._fresh else 0.0), False
        self._deadline = time.monotonic() + self._page_seconds + extra
        self._socket.settimeout(_LOOK_UP)
        with contextlib.suppress(OSError):
            self._socket.sendall(framed(message))

    def answer(self, check: Check) -> bytes:
        """The reply to the last request. Raises `Lost`, or what `check` raises."""
        try:
            message = self._receive(length_of(self._receive(LENGTH_BYTES, check)), check)
        except ValueError as error:
            raise strange(error) from error
        self._deadline = None
        return message

    def take(self, header: PageHeader) -> Pixels:
        """The pixels of the page that was announced. Raises `Lost` when they are not there."""
        pixels = np.empty((header.height, header.width, 3), dtype=np.uint8)
        view, at = pixels.data.cast("B"), 0
        while at < len(view):
            got = os.preadv(self._outbox, [view[at:]], at)
            if not got:
                raise strange(ValueError(f"{at} of {len(view)} bytes of a page"))
            at += got
        return pixels

    def rest(self) -> None:
        """Nothing more is wanted of this file."""
        os.ftruncate(self._inbox, 0)

    def interrupt(self) -> None:
        """Make it end, from any thread; whoever waits for it gets `Lost`."""
        self._process.kill()

    def kill(self) -> None:
        """End it and let go of all it held; by its owner, once."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _receive(self, size: int, check: Check) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            left = (self._deadline or 0.0) - time.monotonic()
            self._socket.settimeout(min(max(left, 0.001), _LOOK_UP))
            try:
                part = self._socket.recv(size - len(parts))
            except (TimeoutError, BlockingIOError):
                check()
                if left <= 0:
                    raise Lost(
                        "too_large", f"not decoded within {self._page_seconds:g} seconds", "time"
                    ) from None
                continue
            except OSError as error:
                raise self._lost() from error
            if not part:
                raise self._lost()
            parts += part
        return bytes(parts)

    def _lost(self) -> Lost:
        """What its end says."""
        self._process.kill()  # no effect on one that has ended
        status = self._process.wait()
        if status == -getattr(signal, "SIGKILL", 9):
            return Lost("internal", "the decoder was killed", "killed")
        return Lost("bad_image", "the decoder crashed on it", "crashed")

    def _close(self) -> None:
        self._socket.close()
        os.close(self._inbox)
        os.close(self._outbox)


def strange(error: Exception) -> Lost:
    """A process that says what no decoder would say."""
    return Lost("internal", str(error), "strange")
