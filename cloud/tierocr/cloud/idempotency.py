"""Answers kept by Idempotency-Key: a client's resend costs no work and gets the same answer.

A key belongs to one device. While the first request is under way a second one with the same key
waits for its answer; the same key with other content is refused. Kept for a time and within a
number of bytes; an answer that was an error is not kept, so the client may try again. Must not know
about HTTP; time is passed in.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tierocr.shared.errors import TierocrError

T = TypeVar("T")
Key = tuple[str, str]
"""The device and the key that it chose."""

OVERHEAD = 512
"""Bytes counted for each kept answer beside its own."""


@dataclass(slots=True, eq=False)
class _Kept(Generic[T]):
    """`size`: what it takes of the bound; one that is under way takes only its place."""

    content: bytes
    until: float
    answer: asyncio.Future[T]
    size: int = OVERHEAD


class AnswerStore(Generic[T]):
    """Answers by key. Not thread-safe: owned by one event loop."""

    def __init__(
        self,
        *,
        most_bytes: int,
        keep_seconds: float,
        size: Callable[[T], int],
        is_final: Callable[[T], bool] = lambda _: True,
    ) -> None:
        """`most_bytes` bounds all kept answers together, by what `size` says of each; the oldest
        go first. An answer that is not `is_final` is given and not kept.
        """
        self._most_bytes, self._keep_seconds = most_bytes, keep_seconds
        self._size, self._is_final = size, is_final
        self._kept: OrderedDict[Key, _Kept[T]] = OrderedDict()
        self._bytes = 0
        self.replayed = 0
        """How many requests were answered without work."""

    async def answer(
        self, key: Key, content: bytes, work: Callable[[], Awaitable[T]], now: float
    ) -> T:
        """What `work` answered to this key, now or before.

        Raises TierocrError `key_reused` when the key came with other content, or what `work`
        raises; whoever waited for it gets the same error.
        """
        self._forget(now)
        digest = hashlib.sha256(content).digest()
        kept = self._kept.get(key)
        if kept is not None:
            if kept.content != digest:
                raise TierocrError(
                    "key_reused", "this Idempotency-Key came with other content before"
                )
            self.replayed += 1
            return await asyncio.shield(kept.answer)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        kept = _Kept(digest, now + self._keep_seconds, future)
        self._kept[key] = kept
        self._bytes += kept.size
        try:
            answer = await work()
        except BaseException as error:
            self._drop(key)
            _tell(kept.answer, error)
            raise
        kept.answer.set_result(answer)
        if not self._is_final(answer):
            self._drop(key)
            return answer
        grown = self._size(answer)
        kept.size += grown
        self._bytes += grown
        self._forget(now)
        return answer

    def __len__(self) -> int:
        """How many keys are known."""
        return len(self._kept)

    def _forget(self, now: float) -> None:
        """Drop what is too old or too much; never what is under way."""
        for key, kept in list(self._kept.items()):
            if kept.answer.done() and (kept.until <= now or self._bytes > self._most_bytes):
                self._drop(key)
            elif kept.until > now and self._bytes <= self._most_bytes:
                return  # they stand in the order of their time

    def _drop(self, key: Key) -> None:
        self._bytes -= self._kept.pop(key).size


def _tell(waiting: asyncio.Future[T], error: BaseException) -> None:
    """Give those who wait the same error, or a reason to try again when the first client left."""
    if isinstance(error, TierocrError):
        waiting.set_exception(TierocrError(error.code, error.message))
    else:
        waiting.set_exception(
            TierocrError("unavailable", "the request that this one waited for ended")
        )
    waiting.exception()  # nobody may be waiting
