"""Files decoded in processes: who gets which process, and what its loss costs.

A process that dies, hangs or says something strange costs the page that it was at; the next page
is decoded by a new one. After `MOST_LOST` of them the rest of the file is given up, so that one
file cannot keep the service starting processes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

from tierocr.cloud.decoding.messages import (
    End,
    Open,
    Opened,
    PageHeader,
    Refused,
    Reply,
    pack_next,
    pack_open,
    unpack_reply,
)
from tierocr.cloud.decoding.process import COMMAND, DecoderProcess, Lost, strange
from tierocr.cloud.decoding.source import Check, OpenFile
from tierocr.shared.document import Failure, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure

MOST_LOST = 3
_log = logging.getLogger(__name__)


class Isolated:
    """As many processes as files are open at once; idle ones wait for the next file."""

    def __init__(
        self,
        *,
        memory_bytes: int,
        page_seconds: float,
        command: Sequence[str] = COMMAND,
        on_lost: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """`memory_bytes`: what a process may use beyond its start. `page_seconds`: how long one
        page, or the opening of a file, may take. `on_lost` is told the reason of each loss.
        """
        self._memory, self._seconds, self._command = memory_bytes, page_seconds, command
        self._on_lost = on_lost
        self._lock = threading.Lock()
        self._idle: list[DecoderProcess] = []
        self._lent: set[DecoderProcess] = set()
        self._closed = False

    def open(self, data: bytes, limits: Limits, *, first: int, check: Check) -> OpenFile:
        """See `PageSource.open`."""
        limits.check_bytes(len(data))
        return _IsolatedFile(self, data, limits, first, check)

    def close(self) -> None:
        """End all processes; files that are open fail with `unavailable`."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._lent:
                process.interrupt()
        for process in idle:
            process.kill()

    @property
    def pids(self) -> list[int]:
        """The processes that there are."""
        with self._lock:
            return [p.pid for p in (*self._idle, *self._lent)]

    def borrow(self) -> DecoderProcess:
        """A process that is alive. Raises TierocrError `unavailable` after `close`."""
        with self._lock:
            self._require_open()
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    self._lent.add(process)
                    return process
                process.kill()
            process = DecoderProcess(
                self._command, memory_bytes=self._memory, page_seconds=self._seconds
            )
            self._lent.add(process)
            return process

    def give_back(self, process: DecoderProcess, *, lost: Lost | None = None) -> None:
        """After use. One that is lost, or still at something, ends here."""
        if lost is not None:
            _log.warning("a decoder process was lost: %s", lost.message)
            self._on_lost(lost.reason)
        keep = lost is None and not process.busy
        if keep:
            process.rest()
        with self._lock:
            self._lent.discard(process)
            keep = keep and not self._closed
            if keep:
                self._idle.append(process)
        if not keep:
            process.kill()

    def require_open(self) -> None:
        """Raise TierocrError `unavailable` after `close`."""
        with self._lock:
            self._require_open()

    def _require_open(self) -> None:
        if self._closed:
            raise TierocrError("unavailable", "the service is stopping")


class _IsolatedFile:
    """The pages of one file. One page is decoded ahead while the last one is used."""

    def __init__(
        self, pool: Isolated, data: bytes, limits: Limits, first: int, check: Check
    ) -> None:
        self._pool, self._data, self._limits, self._check = pool, data, limits, check
        self._next, self._losses, self._over = first, 0, False
        self._process: DecoderProcess | None = None
        self.count = self._open()

    def __iter__(self) -> Iterator[PageImage | PageFailure]:
        return self

    def __next__(self) -> PageImage | PageFailure:
        if self._over:
            raise StopIteration
        try:
            if self._process is None:  # the last one was lost
                self._open()
            item = self._receive()
        except Lost as lost:
            return self._lose(lost)
        except BaseException:
            self.close()
            raise
        if item is None:
            self.close()
            raise StopIteration
        self._next = item.index + 1
        return item

    def close(self) -> None:
        self._over, self._data = True, b""
        process, self._process = self._process, None
        if process is not None:
            self._pool.give_back(process)

    def _open(self) -> int | None:
        """Raises TierocrError: a file that cannot even be opened is lost as a whole."""
        try:
            try:
                return self._open_once()
            except Lost as lost:
                if lost.reason != "killed":
                    raise
                self._drop(lost)  # perhaps while it was idle: not this file's doing
                return self._open_once()
        except Lost as lost:
            self._drop(lost)
            self._over = True
            raise TierocrError(lost.code, lost.message) from lost
        except BaseException:
            self.close()
            raise

    def _open_once(self) -> int | None:
        process = self._process = self._pool.borrow()
        process.put(self._data)
        message = Open(size=len(self._data), first=self._next, limits=self._limits)
        process.ask(pack_open(message))
        reply = self._reply(process)
        if not isinstance(reply, Opened):
            raise strange(ValueError(f"{type(reply).__name__} instead of a page count"))
        return reply.count

    def _receive(self) -> PageImage | PageFailure | None:
        process = self._process
        assert process is not None
        if not process.busy:
            process.ask(pack_next())
        reply = self._reply(process)
        if isinstance(reply, End):
            return None
        if isinstance(reply, Opened) or getattr(reply, "index", self._next) < self._next:
            raise strange(ValueError("a page that was not asked for"))
        if isinstance(reply, PageFailure):
            return reply
        assert isinstance(reply, PageHeader)
        page = PageImage(
            pixels=process.take(reply),
            index=reply.index,
            dpi=reply.dpi,
            orientation=reply.orientation,
            transform=reply.transform,
            warnings=reply.warnings,
        )
        if self.count is None or reply.index + 1 < self.count:
            process.ask(pack_next())
        return page

    def _reply(self, process: DecoderProcess) -> Reply:
        """The answer. Raises TierocrError when the file as a whole is refused."""
        message = process.answer(self._check)
        try:
            reply = unpack_reply(message, self._limits)
        except ValueError as error:
            raise strange(error) from error
        if isinstance(reply, Refused):
            raise TierocrError(reply.failure.code, reply.failure.message)
        return reply

    def _lose(self, lost: Lost) -> PageFailure:
        """The page that stands for what was lost. Raises TierocrError when it is too much."""
        self._drop(lost)
        self._pool.require_open()
        self._losses += 1
        index, self._next = self._next, self._next + 1
        if self.count is None or self._next >= self.count:
            self._over = True
        elif self._losses >= MOST_LOST:
            self._over = True
            raise TierocrError(
                lost.code, f"{self._losses} pages could not be decoded, the last: {lost.message}"
            )
        return PageFailure(index=index, failure=Failure(code=lost.code, message=lost.message))

    def _drop(self, lost: Lost) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._pool.give_back(process, lost=lost)
