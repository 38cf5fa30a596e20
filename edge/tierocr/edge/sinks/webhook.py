"""Results posted to an address: the document as JSON, signed.

Each final version arrives at least once, always with the same `Idempotency-Key` ("id/version"), so
that a receiver can tell a repetition. Must not know when it is tried again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import aiohttp

from tierocr.edge.backoff import asked_wait
from tierocr.edge.outbox.values import Due
from tierocr.edge.sinks import Undelivered
from tierocr.edge.sinks.contents import JSON, Original, contents
from tierocr.edge.sinks.signing import HEADER, sign

REFUSED = frozenset((400, 413, 415, 422))
"""Statuses that say that this very body will never be taken."""


class Webhook:
    """One address, one connection pool."""

    def __init__(
        self,
        url: str,
        secret: bytes | None,
        *,
        provisional: bool = True,
        timeout: float = 30.0,
        rules: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`secret`: signs every body; None for no signature. `timeout`: seconds for one attempt."""
        self.name = f"webhook:{url}"
        self._url, self._secret, self._provisional = url, secret, provisional
        self._timeout, self._rules, self._clock = timeout, tuple(rules), clock
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Open the connection pool."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=2),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=5),
        )

    async def close(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()

    def occupied(self, output: str) -> bool:
        """Names mean nothing here."""
        return False

    async def deliver(self, due: Due, original: Original) -> None:
        """Post a version; only a status 2xx is an arrival."""
        if not due.delivery.final and not self._provisional:
            return
        ((_, body),) = await asyncio.to_thread(
            contents, due.document, (JSON,), original, rules=self._rules
        )
        try:
            status, retry_after = await self._post(body, due)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            what = str(error) or type(error).__name__
            raise Undelivered(f"{_place(self._url)}: {what}") from error
        if not 200 <= status < 300:
            raise Undelivered(
                f"{_place(self._url)}: HTTP {status}",
                retry_after=retry_after,
                hopeless=status in REFUSED,
            )

    async def _post(self, body: bytes, due: Due) -> tuple[int, float | None]:
        assert self._session is not None, "open it first"
        document = due.document
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{document.id}/{document.version}",
            "X-Tierocr-Id": document.id,
            "X-Tierocr-Version": str(document.version),
            "X-Tierocr-Status": document.status,
        }
        if self._secret is not None:
            headers[HEADER] = sign(self._secret, body, int(self._clock()))
        async with self._session.post(
            self._url, data=body, headers=headers, allow_redirects=False
        ) as response:
            return response.status, asked_wait(response.headers.get("Retry-After"))


def _place(url: str) -> str:
    """The address for a log: without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
