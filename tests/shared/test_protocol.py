"""The wire protocol: what is packed comes back, and no bytes do anything but raise TierocrError."""

from __future__ import annotations

import struct
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tierocr.shared.document import EngineInfo, Failure
from tierocr.shared.errors import ERROR_CODES, TierocrError
from tierocr.shared.protocol import (
    FORMATS,
    PageRef,
    Refined,
    RefinedChar,
    RefineReply,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_reply,
    pack_request,
    unpack_reply,
    unpack_request,
)

LIMITS = WireLimits(body_bytes=1 << 16, image_bytes=1 << 12, regions=8, text_length=64)

texts = st.text(max_size=40)
fractions = st.floats(0, 1)
numbers = st.floats(-1e8, 1e8)

regions = st.builds(
    RegionImage,
    id=texts,
    image=st.binary(max_size=100),
    format=st.sampled_from(FORMATS),
    margin=numbers,
    text=texts,
    p_error=fractions,
    angle=numbers,
)
requests = st.builds(
    RefineRequest,
    request_id=texts,
    device=texts,
    page=st.builds(
        PageRef, id=texts, width=st.integers(0, 2**31 - 1), height=st.integers(0, 2**31 - 1)
    ),
    regions=st.lists(regions, max_size=8, unique_by=lambda r: r.id).map(tuple),
)
readings = st.builds(
    Refined,
    id=texts,
    text=texts,
    chars=st.lists(
        st.builds(
            RefinedChar,
            text=st.text(min_size=1, max_size=2),
            score_raw=fractions,
            start=fractions,
            end=fractions,
        ),
        max_size=5,
    ).map(tuple),
    score_raw=fractions,
    confidence=fractions,
    calibrated=st.booleans(),
    alternatives=st.lists(texts, max_size=3).map(tuple),
)
failures = st.builds(
    Refined,
    id=texts,
    error=st.builds(Failure, code=st.sampled_from(sorted(ERROR_CODES)), message=texts),
)
replies = st.builds(
    RefineReply,
    request_id=texts,
    engine=st.builds(EngineInfo, pack=texts, precision=texts, runtime=texts),
    results=st.lists(readings | failures, max_size=8).map(tuple),
    timings=st.dictionaries(texts, st.floats(0, 1e6), max_size=5),
)


@given(requests)
def test_a_request_comes_back(request: RefineRequest) -> None:
    assert unpack_request(pack_request(request), LIMITS) == request


@given(replies)
def test_a_reply_comes_back(reply: RefineReply) -> None:
    assert unpack_reply(pack_reply(reply), LIMITS) == reply


def refused(body: bytes, limits: WireLimits = LIMITS) -> str | None:
    """The code that both kinds of message are refused with, None if a request is accepted."""
    code = None
    for unpack in (unpack_request, unpack_reply):
        try:
            unpack(body, limits)
        except TierocrError as error:
            code = code or error.code
            assert error.code in (
                "bad_request",
                "too_large",
                "incompatible_version",
                "unsupported_format",
            )
    return code


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\xc1")
@example(b"\xdf\xff\xff\xff\xff")
@example(b"\xdd\xff\xff\xff\xff")
@example(b"\xc6\xff\xff\xff\xff")
@example(b"\xdb\xff\xff\xff\xff")
@example(b"\xc7\x0c\xff" + bytes(12))  # a timestamp
@example(b"\x81" * 5000)
@example(b"\x91" * 5000)
def test_random_bytes_are_refused(body: bytes) -> None:
    assert refused(body) is not None


def sample() -> dict[str, Any]:
    request = RefineRequest(
        request_id="r",
        device="d",
        page=PageRef(id="p", width=10, height=20),
        regions=(RegionImage(id="a", image=b"xy", format="png"),),
    )
    message: dict[str, Any] = msgpack.unpackb(pack_request(request))
    return message


@settings(max_examples=500, deadline=None)
@given(requests | replies, st.data())
def test_damaged_messages_are_refused_or_read(
    message: RefineRequest | RefineReply, data: st.DataObject
) -> None:
    packed = pack_request(message) if isinstance(message, RefineRequest) else pack_reply(message)
    cut = data.draw(st.integers(0, len(packed) - 1))
    assert refused(packed[:cut]) is not None
    assert refused(packed + b"\x00") is not None
    flipped = bytearray(packed)
    flipped[cut] ^= data.draw(st.integers(1, 255))
    refused(bytes(flipped))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=10)
    | st.binary(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        | st.dictionaries(st.integers(0, 9), inner, max_size=2)
    ),
    max_leaves=15,
)
keys = st.sampled_from(
    ["v", "request_id", "device", "page", "regions", "engine", "results", "timings", "other"]
)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(keys, values, max_size=9))
def test_wrong_types_are_refused_or_read(changes: dict[str, Any]) -> None:
    refused(msgpack.packb({**sample(), **changes}, use_bin_type=True))


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["id", "image", "format", "margin", "text"]), values))
def test_wrong_types_in_a_region_are_refused_or_read(changes: dict[str, Any]) -> None:
    message = sample()
    message["regions"][0].update(changes)
    refused(msgpack.packb(message, use_bin_type=True))


def test_unknown_fields_are_ignored() -> None:
    message = {**sample(), "hints": {"later": [1, 2]}, "x": None}
    message["regions"][0]["hints"] = "new"
    assert unpack_request(msgpack.packb(message), LIMITS).request_id == "r"


@pytest.mark.parametrize("version", [0, 2, 2**31 - 1])
def test_another_version_is_refused(version: int) -> None:
    assert refused(msgpack.packb({**sample(), "v": version})) == "incompatible_version"


@pytest.mark.parametrize("version", [None, "1", 1.0, True, -1])
def test_a_version_that_is_none(version: object) -> None:
    assert refused(msgpack.packb({**sample(), "v": version})) == "bad_request"


def test_ids_are_unique() -> None:
    message = sample()
    message["regions"] *= 2
    assert refused(msgpack.packb(message)) == "bad_request"


def test_limits() -> None:
    message = sample()
    many = [{**message["regions"][0], "id": str(i)} for i in range(9)]
    assert refused(msgpack.packb({**message, "regions": many})) == "too_large"
    assert refused(msgpack.packb({**message, "regions": [0] * 10_000})) == "too_large"
    assert refused(b"x" * (LIMITS.body_bytes + 1)) == "too_large"
    big = [{**message["regions"][0], "image": b"x" * (LIMITS.image_bytes + 1)}]
    assert refused(msgpack.packb({**message, "regions": big})) == "too_large"
    long = [{**message["regions"][0], "text": "x" * (LIMITS.text_length + 1)}]
    assert refused(msgpack.packb({**message, "regions": long})) == "bad_request"


def test_no_extension_type_gets_through() -> None:
    for code in (0, 5, 127):
        body = msgpack.packb({**sample(), "x": msgpack.ExtType(code, b"")})
        assert refused(body) == "bad_request"
    timestamp = b"\xd6\xff" + struct.pack(">I", 1)
    assert refused(b"\x81\xa1v" + timestamp) == "bad_request"


def test_an_unknown_error_code_of_a_newer_peer_is_internal() -> None:
    result = {"id": "a", "error": {"code": "from_the_future", "message": "m"}}
    engine = {"pack": "p", "precision": "f", "runtime": "r"}
    body = msgpack.packb(
        {"v": 1, "request_id": "r", "engine": engine, "results": [result], "timings": {}}
    )
    (refined,) = unpack_reply(body, LIMITS).results
    assert refined.error == Failure(code="internal", message="m")
