"""What a service meets that is open to the world: each fault has its code, nobody else notices.

The service runs on a loop of its own, and its callers are plain sockets.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from itertools import count
from typing import Any

import msgpack
import numpy as np
import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cloud.conftest import body_of, readers_by, region
from tests.fakes.engines import painted_reader
from tests.fakes.painted import paint, png
from tierocr.cloud.app import SERVICE, make_app
from tierocr.cloud.connections import set_up
from tierocr.cloud.model import OpenReaders
from tierocr.cloud.settings import CloudSettings
from tierocr.shared.document import Pixels
from tierocr.shared.errors import ERROR_CODES
from tierocr.shared.protocol import CONTENT_TYPE, WireLimits, unpack_reply

TEXT = "ab"
IMAGE = png(paint(TEXT))
VALID = body_of(region("x", IMAGE), region("y", IMAGE))
TREE = msgpack.unpackb(VALID)
BY_STATUS = {code.status for code in ERROR_CODES.values()}


class Running:
    """A service and its port."""

    def __init__(self, readers: OpenReaders, **sections: Any) -> None:
        values = {
            "auth": {"allow_anonymous": True},
            "model": {"warm_widths": [64], "canary_seconds": 0},
            "decoding": {"processes": False},
            "stop": {"grace_seconds": 1},
            **sections,
        }
        self.settings = CloudSettings.model_validate(values)
        self.app = make_app(self.settings, readers=readers, probes=[])
        self.around = AsyncExitStack()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.port = self.run(self._start())

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _start(self) -> int:
        self.runner = await self.around.enter_async_context(set_up(self.app, self.settings))
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        await self.app[SERVICE].loaded()
        port: int = self.runner.addresses[0][1]
        return port

    def stop(self) -> None:
        self.run(self.around.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    def post(
        self, body: bytes, path: str = "/v1/refine", kind: str = CONTENT_TYPE, **headers: str
    ) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            named = {k.replace("_", "-"): v for k, v in headers.items()}
            connection.request("POST", path, body, {"Content-Type": kind, **named})
            response = connection.getresponse()
            return response.status, response.read()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def check(self) -> None:
        """It is ready, reads right, and holds nothing of those who have gone."""
        for _ in range(500):
            status, content = self.post(VALID)
            if status != 503:  # while it has not noticed yet that all of them have gone
                break
            time.sleep(0.01)
        assert status == 200
        assert [r.text for r in unpack_reply(content, WireLimits()).results] == [TEXT, TEXT]
        service = self.app[SERVICE]
        assert service.state == "ready"

        async def empty() -> None:
            for _ in range(500):
                held = (service.crops.taken, service.requests.taken, service.files.taken)
                if held == (0, 0, 0) and not service.depths():
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(f"still held: {held}, {service.depths()}")

        self.run(empty())


@contextmanager
def running(readers: OpenReaders | None = None, **sections: Any) -> Iterator[Running]:
    service = Running(readers or readers_by(lambda: painted_reader()[0]), **sections)
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as service:
        yield service


def judge(status: int, content: bytes) -> None:
    """An answer that may be given to anything: right, or a problem with the code of its status."""
    if status == 200:
        for result in unpack_reply(content, WireLimits()).results:
            assert result.error is not None or result.text is not None
        return
    problem = json.loads(content)
    assert ERROR_CODES[problem["code"]].status == status == problem["status"], problem
    assert status < 500, problem


# -- messages ----------------------------------------------------------------------------------

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=40)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.integers(0, 9), inner, max_size=4)
    ),
    max_leaves=12,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    return [path, *(p for key, item in inner for p in _paths(item, (*path, key)))]


def _changed(path: tuple[Any, ...], new: Any, value: Any = TREE) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(path[1:], new, value[path[0]])
    return copy


_RANDOM = _VALUES.map(msgpack.packb)
_MISUSED = st.builds(
    lambda path, value: bytes(msgpack.packb(_changed(path, value))),
    st.sampled_from(_paths(TREE)),
    _VALUES,
)
_TRUNCATED = st.integers(0, len(VALID) - 1).map(lambda n: VALID[:n])
_FLIPPED = st.builds(
    lambda at, bit: VALID[:at] + bytes([VALID[at] ^ (1 << bit)]) + VALID[at + 1 :],
    st.integers(0, len(VALID) - 1),
    st.integers(0, 7),
)
_LONGER = st.binary(min_size=1, max_size=50).map(lambda more: VALID + more)
_DEEP = st.builds(
    lambda opening, depth, end: opening * depth + end,
    st.sampled_from([b"\x91", b"\x81\xa1v", b"\xdc\x00\x01", b"\xdf\x00\x00\x00\x01\xa1v"]),
    st.integers(1, 20_000),
    st.binary(max_size=2),
)
_HUGE = st.builds(  # headers that announce far more than comes
    lambda head, size, end: head + size.to_bytes(4, "big") + end,
    st.sampled_from([b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\x81\xa1v\xdd", b"\xc9"]),
    st.integers(1 << 12, (1 << 32) - 1),
    st.binary(max_size=20),
)


@settings(
    max_examples=2_000,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(_RANDOM | _MISUSED | _TRUNCATED | _FLIPPED | _LONGER | _DEEP | _HUGE)
def test_whatever_message_comes_the_answer_is_right_or_says_why(
    service: Running, body: bytes
) -> None:
    status, content = service.post(body)
    judge(status, content)
    if status != 200:
        return
    sent = {r["id"]: r["image"] for r in msgpack.unpackb(body, strict_map_key=False)["regions"]}
    for result in unpack_reply(content, WireLimits()).results:
        assert result.id in sent
        if sent[result.id] == IMAGE and result.error is None:
            assert result.text == TEXT


def test_after_all_of_them_it_reads_as_before(service: Running) -> None:
    service.check()


# -- a corpus of files -------------------------------------------------------------------------


def _png_of(width: int, height: int) -> bytes:
    """A few bytes that claim to be a picture of that size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 << 20), 9)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _tiff_in_a_circle() -> bytes:
    """A directory that names itself as the next one."""
    entries = ((256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 0), (278, 1), (279, 1))
    directory = struct.pack("<H", len(entries))
    for tag, value in entries:
        directory += struct.pack("<HHII", tag, 4, 1, value)
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", 8)


CORPUS = {
    "nothing": b"",
    "one byte": b"\x89",
    "zeros": bytes(1000),
    "text": b"just words",
    "half a picture": IMAGE[: len(IMAGE) // 2],
    "a picture's head": IMAGE[:24],
    "a bomb": _png_of(60_000, 60_000),
    "a long thin bomb": _png_of(2_000_000_000, 1),
    "no size": _png_of(0, 0),
    "a circle": _tiff_in_a_circle(),
    "a pdf in a circle": b"%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 1 0 R>>\nendobj\n"
    b"trailer<</Root 1 0 R>>",
    "half a pdf": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj <<",
    "a jpeg of nothing": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(30) + b"\xff\xd9",
    "a webp of nothing": b"RIFF\xff\xff\xff\xffWEBPVP8 \xff\xff\xff\xff",
    "a gif of nothing": b"GIF89a\xff\xff\xff\xff\x00\x00\x00",
    "a zip": b"PK\x03\x04" + bytes(60),
    "markup": b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_bad_file_has_a_code_as_a_file_and_as_a_region(service: Running, name: str) -> None:
    data = CORPUS[name]
    status, content = service.post(data, "/v1/ocr", "application/octet-stream")
    if status == 200:  # something of it could be decoded
        assert all(p["warnings"] or not p["lines"] for p in json.loads(content)["pages"])
    else:
        assert status in (400, 413, 415, 422)
        judge(status, content)
    status, content = service.post(body_of(region("bad", data), region("good", IMAGE)))
    assert status == 200
    bad, good = unpack_reply(content, WireLimits()).results
    assert good.text == TEXT
    assert bad.error is not None
    assert bad.error.code in ("bad_image", "too_large", "unsupported_format")
    service.check()


@pytest.mark.parametrize("kind", ["", "text/html", "application/x-msgpack", "multipart/form-data"])
def test_another_kind_of_content_is_415(service: Running, kind: str) -> None:
    status, content = service.post(VALID, kind=kind)
    assert status == 415
    judge(status, content)


# -- connections -------------------------------------------------------------------------------

_HEAD = (
    "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
    "Content-Length: {}\r\nX-Deadline-Ms: {}\r\n\r\n"
)


def test_bodies_that_drip_hold_nobody_up() -> None:
    with running(limits={"requests": 40}) as service:
        slow = [service.connect() for _ in range(30)]
        try:
            for k, connection in enumerate(slow):
                path = "/v1/refine" if k % 10 else "/v1/ocr"
                connection.sendall(_HEAD.format(path, len(VALID), 1500).encode())
            for n in range(3):
                for connection in slow:
                    connection.sendall(VALID[n : n + 1])
                service.post(VALID)
            answers = [connection.recv(64)[:12] for connection in slow]
        finally:
            for connection in slow:
                connection.close()
        # files have two places: the third of them was turned away
        assert set(answers) <= {b"HTTP/1.1 504", b"HTTP/1.1 503"}
        assert answers.count(b"HTTP/1.1 504") >= 28
        service.check()


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
@pytest.mark.parametrize(
    "head", [b"", b"POST /v1/refine HTTP/1.1\r\nHost: x\r\nX-Much: " + b"a" * 90]
)
def test_a_head_that_drips_holds_no_connection(before: bytes, head: bytes) -> None:
    with running(listen={"idle_seconds": 1}) as service, closing(service.connect()) as connection:
        connection.sendall(before)
        for n in range(len(head)):
            try:
                connection.sendall(head[n : n + 1])
            except ConnectionError:  # the one after it is told
                break
            time.sleep(0.05)
        connection.settimeout(10)
        said = b""
        with suppress(ConnectionError):
            while more := connection.recv(4096):
                said += more
        assert said.startswith(b"HTTP/1.1 200" if before else b"")
        service.check()


def test_an_answer_that_is_not_read_holds_no_connection() -> None:
    with running(listen={"unread_seconds": 0.5}) as service:
        with closing(socket.socket()) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", service.port))
            connection.settimeout(0.2)
            asked = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100
            until = time.monotonic() + 20
            with pytest.raises(ConnectionError):
                while time.monotonic() < until:
                    with suppress(TimeoutError):
                        connection.sendall(asked)
        service.check()


def test_two_hundred_who_leave_in_the_middle(
    service: Running, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(7)
    page = png(np.pad(paint("page"), ((90, 90), (90, 90), (0, 0)), constant_values=255))
    for k in range(200):
        path, body = ("/v1/refine", VALID) if k % 4 else ("/v1/ocr", page)
        whole = _HEAD.format(path, len(body), 5000).encode() + body
        with closing(service.connect()) as connection:
            if k % 2:  # reset, not closed
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(whole[: rng.choice((20, len(whole) // 2, len(whole)))])
    service.check()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_who_is_refused_for_size_hears_it_and_goes_on_on_the_same_connection() -> None:
    with (
        running(limits={"refine_body_bytes": 2048}) as service,
        closing(HTTPConnection("127.0.0.1", service.port, timeout=30)) as connection,
    ):
        small = body_of(region("x", IMAGE))
        assert len(small) < 2048
        for _ in range(5):
            connection.request("POST", "/v1/refine", bytes(1 << 20), {"Content-Type": CONTENT_TYPE})
            response = connection.getresponse()
            assert response.status == 413
            judge(413, response.read())
            connection.request("POST", "/v1/refine", small, {"Content-Type": CONTENT_TYPE})
            response = connection.getresponse()
            (result,) = unpack_reply(response.read(), WireLimits()).results
            assert result.text == TEXT
        service.check()


# -- the engine --------------------------------------------------------------------------------


def test_an_engine_that_crashes_now_and_then_never_answers_wrongly() -> None:
    calls = count()

    def crash() -> None:
        if next(calls) % 3 == 2:
            raise RuntimeError("out of memory on the device")

    reader, network = painted_reader()
    words = ["alpha", "bravo", "gamma", "delta", "omega"]
    with running(readers_by(lambda: reader)) as service:
        network.before = crash
        codes = []
        for k in range(40):
            regions = [region(w, _with(paint(w), k)) for w in words]
            status, content = service.post(body_of(*regions))
            assert status == 200
            for result in unpack_reply(content, WireLimits()).results:
                codes.append(result.error.code if result.error else "")
                assert result.error or result.text == result.id
        assert set(codes) == {"", "internal"} and codes.count("") > len(codes) / 2
        network.before = lambda: None
        service.check()


def test_no_time_of_grace_is_no_time() -> None:
    gate, (reader, network) = threading.Event(), painted_reader()
    service = Running(readers_by(lambda: reader), stop={"grace_seconds": 0})
    network.before = lambda: (gate.wait(20), None)[1]
    try:
        with closing(service.connect()) as connection:
            head = _HEAD.format("/v1/refine", len(VALID), 20_000).encode()
            connection.sendall(head + VALID)
            time.sleep(0.3)
            began = time.monotonic()
            service.stop()
            assert time.monotonic() - began < 10, "it does not wait for what is under way"
    finally:
        gate.set()


def _with(crop: Pixels, number: int) -> Pixels:
    """The same to read, but other pixels: equal crops would share one reading."""
    crop = crop.copy()
    crop[-1, -1] = 250 - number
    return crop
