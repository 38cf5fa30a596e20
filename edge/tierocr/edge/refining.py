"""The Refiner: one object per cloud service; sends regions, brings back what it made of them.

Every call has a deadline and ends in a reply or a TierocrError with a code; nothing a server
does or says raises anything else. Must not know about pages' pixels or about merging.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import ssl
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aiohttp

from tierocr.edge.answered_pages import check_page
from tierocr.edge.backoff import asked_wait, delay
from tierocr.edge.breaker import Breaker
from tierocr.shared.document import Page
from tierocr.shared.errors import ERROR_CODES, TierocrError
from tierocr.shared.export.parse import from_json
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    RefineReply,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_request,
    unpack_reply,
)

_BY_STATUS = {
    401: "unauthorized",
    403: "unauthorized",
    404: "unavailable",
    413: "too_large",
    415: "unsupported_format",
    429: "rate_limited",
    503: "over_capacity",
    504: "deadline_exceeded",
}
_PROBLEM_BYTES = 1 << 16
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAddress:
    """Where the cloud is and who we are. `deadline`: seconds that one page may wait for it. `tls`:
    whom to believe and what to show, None for what the system believes.
    """

    url: str
    token: str | None = None
    device: str = "tierocr"
    deadline: float = 10.0
    tls: ssl.SSLContext | None = None


def tls_of(
    ca_file: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> ssl.SSLContext | None:
    """What `CloudAddress.tls` says for PEM files; None without any.

    `ca_file`: the only authorities to believe. `certificate`, `key`: what is shown to a service
    that asks for one; without `key` it stands in the certificate's file. Raises TierocrError
    `config_invalid`.
    """
    if key is not None and certificate is None:
        raise TierocrError("config_invalid", "a client's key means nothing without its certificate")
    if ca_file is None and certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if certificate is not None:
            # a key with a passphrase is an error, not a question on the terminal
            context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        names = ", ".join(str(path) for path in (ca_file, certificate, key) if path)
        message = f"{names} cannot be used for TLS: {error}"
        raise TierocrError("config_invalid", message) from error
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReply:
    """A page as the cloud has read it, in pixels of the picture turned upright; its transform leads
    to those of the picture.
    """

    request_id: str
    page: Page


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Call:
    """What is sent, each time anew until it is answered."""

    path: str
    content_type: str
    body: bytes
    request_id: str
    key: str


class Refiner:
    """Use as an async context manager. One connection pool, one circuit breaker."""

    def __init__(
        self,
        address: CloudAddress,
        *,
        limits: WireLimits | None = None,
        breaker: Breaker | None = None,
        clock: Callable[[], float] = time.monotonic,
        book: Callable[[int], Awaitable[None]] | None = None,
        insist: bool = True,
    ) -> None:
        """See `CloudAddress`; the rest has sensible defaults. `book`: told of each call's bytes
        before they go out; what it raises keeps them here. `insist`: try again, as long as the
        deadline allows, what may go well another time.
        """
        self._insist = insist
        self._book = book
        self._address = address
        self._limits = limits or WireLimits()
        self._breaker = breaker or Breaker()
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Refiner:
        """Open the connection pool."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=4, ssl=self._address.tls or True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()

    async def refine(self, page: PageRef, regions: tuple[RegionImage, ...]) -> RefineReply:
        """Have regions read again within the address's deadline.

        Raises TierocrError: `unavailable` (cannot be reached, talks nonsense, circuit open),
        `deadline_exceeded`, `incompatible_version`, or the code the server refused with.
        """
        request_id = uuid.uuid4().hex
        request = RefineRequest(
            request_id=request_id, device=self._address.device, page=page, regions=regions
        )
        call = _Call(
            path="/v1/refine",
            content_type=CONTENT_TYPE,
            body=pack_request(request),
            request_id=request_id,
            key=idempotency_key(page, regions),
        )
        return await self._asked(call, self._read_reply)

    async def read_page(self, page: PageRef, image: bytes, image_format: str) -> PageReply:
        """Have a whole page read again, otherwise like `refine`. `image`: its picture, encoded."""
        call = _Call(
            path="/v1/ocr",
            content_type=f"image/{image_format}",
            body=image,
            request_id=uuid.uuid4().hex,
            key=whole_key(page, image),
        )
        return await self._asked(call, self._read_document)

    async def _asked(self, call: _Call, read: Callable[[_Call, bytes], R]) -> R:
        """Ask while the circuit allows it; the breaker is told how it ended."""
        if not self._breaker.allows(self._clock()):
            raise TierocrError("unavailable", "the cloud failed repeatedly; not asked for now")
        try:
            # wait_for, as asyncio.timeout came only with Python 3.11
            reply = await asyncio.wait_for(self._until_answered(call, read), self._address.deadline)
        except asyncio.TimeoutError as error:
            self._breaker.failed(self._clock())
            message = f"no answer within {self._address.deadline:g} s"
            raise TierocrError("deadline_exceeded", message) from error
        except TierocrError:
            self._breaker.failed(self._clock())
            raise
        except asyncio.CancelledError:
            self._breaker.gave_up()
            raise
        self._breaker.succeeded()
        return reply

    async def _until_answered(self, call: _Call, read: Callable[[_Call, bytes], R]) -> R:
        end = self._clock() + self._address.deadline
        attempt = 0
        while True:
            outcome = await self._attempt(call, end - self._clock())
            if not isinstance(outcome, _Refused):
                return read(call, outcome)
            if not (outcome.error.retryable and self._insist):
                raise outcome.error
            wait = delay(attempt, outcome.retry_after, random.random())
            if self._clock() + wait >= end:
                raise outcome.error
            await asyncio.sleep(wait)
            attempt += 1

    async def _attempt(self, call: _Call, remaining: float) -> bytes | _Refused:
        assert self._session is not None, "use the refiner as a context manager"
        headers = {
            "Content-Type": call.content_type,
            "Idempotency-Key": call.key,
            "X-Request-Id": call.request_id,
            "X-Deadline-Ms": str(max(1, int(remaining * 1000))),
        }
        if self._address.token:
            headers["Authorization"] = f"Bearer {self._address.token}"
        url = self._address.url.rstrip("/") + call.path
        if self._book is not None:
            await self._book(len(call.body))
        try:
            async with self._session.post(
                url, data=call.body, headers=headers, allow_redirects=False
            ) as response:
                if response.status != 200:
                    return await _refusal(response)
                content = await _bounded(response, self._limits.body_bytes)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            message = _plain(f"cannot reach the cloud: {error}")
            return _Refused(TierocrError("unavailable", message), None)
        if content is None:
            message = f"the cloud talks nonsense: over {self._limits.body_bytes} bytes"
            raise TierocrError("unavailable", message)
        return content

    def _read_reply(self, call: _Call, content: bytes) -> RefineReply:
        try:
            reply = unpack_reply(content, self._limits)
        except TierocrError as error:
            if error.code == "incompatible_version":
                raise
            raise _nonsense(error) from error
        if reply.request_id != call.request_id:
            raise TierocrError("unavailable", "the cloud answered another request")
        return reply

    def _read_document(self, call: _Call, content: bytes) -> PageReply:
        try:
            document = from_json(content)
            if len(document.pages) != 1:
                raise TierocrError("bad_request", f"{len(document.pages)} pages for one")
            check_page(document.pages[0], self._limits.text_length)
        except TierocrError as error:
            raise _nonsense(error) from error
        return PageReply(request_id=call.request_id, page=document.pages[0])


def _nonsense(error: TierocrError) -> TierocrError:
    return TierocrError("unavailable", f"the cloud talks nonsense: {_plain(error.message)}")


class Refusal(TierocrError):
    """What a server refused with, and the seconds after which it may be asked again."""

    def __init__(self, code: str, message: str, retry_after: float | None) -> None:
        """See the class."""
        super().__init__(code, message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Refused:
    error: TierocrError
    retry_after: float | None


def idempotency_key(page: PageRef, regions: tuple[RegionImage, ...]) -> str:
    """The same page and crops give the same key, whenever they are sent again."""
    hasher = hashlib.sha256(f"{page.id}\0{page.width}\0{page.height}".encode())
    for region in regions:
        hasher.update(f"\0{region.id}\0{len(region.image)}\0".encode())
        hasher.update(region.image)
    return hasher.hexdigest()


def whole_key(page: PageRef, image: bytes) -> str:
    """The same for a page that is sent as a whole."""
    hasher = hashlib.sha256(f"{page.id}\0{page.width}\0{page.height}\0whole\0".encode())
    hasher.update(image)
    return hasher.hexdigest()


async def _bounded(response: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """The body, or None where it is longer than allowed."""
    content = b""
    async for chunk in response.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > limit:
            return None
    return content


async def _refusal(response: aiohttp.ClientResponse) -> _Refused:
    """The code that a server refused with: from its problem document, else from the status."""
    code = _BY_STATUS.get(response.status)
    if code is None:
        code = "bad_request" if 400 <= response.status < 500 else "unavailable"
    detail = f"HTTP {response.status}"
    if response.content_type == "application/problem+json":
        problem = _problem(await _bounded(response, _PROBLEM_BYTES))
        if (named := problem.get("code")) in ERROR_CODES:
            code = named
        detail = problem.get("detail") or problem.get("title") or detail
    after = asked_wait(response.headers.get("Retry-After"))
    return _Refused(Refusal(code, _plain(f"the cloud refused: {detail}"), after), after)


def _problem(content: bytes | None) -> dict[str, str]:
    """The texts of a problem document; none where it is none, as the status says enough."""
    try:
        document = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    fields = document.items() if isinstance(document, dict) else ()
    return {k: v for k, v in fields if isinstance(v, str)}


def _plain(text: str) -> str:
    """One line for people, whatever a server put into it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:300]).split())
