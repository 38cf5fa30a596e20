"""The Refiner against a service that does everything wrong: a reply or a code, always in time."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from tests.fakes.cloud import (
    Answer,
    Call,
    after,
    bad_gzip,
    body,
    endless,
    fake_cloud,
    hang,
    hang_midway,
    hang_up,
    packed,
    problem,
    reading,
    reset_midway,
    results,
    right,
    shout,
    status,
    wire,
)
from tierocr.edge.breaker import Breaker
from tierocr.edge.refining import CloudAddress, Refiner, Refusal, idempotency_key
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    Refined,
    RefineReply,
    RegionImage,
    WireLimits,
)

PAGE = PageRef(id="doc/0", width=1000, height=1400)
REGIONS = tuple(
    RegionImage(id=str(i), image=bytes([i]) * 50, format="webp", text=text, p_error=0.4)
    for i, text in enumerate(["alpha", "beta"])
)
SLACK = 3.0
"""Seconds over the deadline that a busy machine may take; a hanging call takes for ever."""


async def ask(url: str, *, deadline: float = 5.0, **more: Any) -> RefineReply:
    token = more.pop("token", None)
    address = CloudAddress(url=url, token=token, device="kiosk", deadline=deadline)
    async with Refiner(address, **more) as refiner:
        return await refiner.refine(PAGE, REGIONS)


async def refused(url: str, **more: Any) -> TierocrError:
    with pytest.raises(TierocrError) as caught:
        await ask(url, **more)
    return caught.value


def changed(**fields: Any) -> Answer:
    """A right answer with some fields of its map replaced."""

    def make(call: Call) -> bytes:
        message = msgpack.unpackb(packed(call, [shout(r) for r in call.message.regions]))
        content: bytes = msgpack.packb({**message, **fields})
        return content

    return body(make)


# -- answers that are of use -------------------------------------------------------------------


async def test_a_right_answer() -> None:
    with fake_cloud(right) as cloud:
        reply = await ask(cloud.url)
    assert [(r.id, r.text) for r in reply.results] == [("0", "ALPHA"), ("1", "BETA")]
    assert reply.engine.pack == "fake"
    assert [r.text for r in cloud.calls[0].message.regions] == ["alpha", "beta"]


@pytest.mark.parametrize(
    ("make", "ids"),
    [
        (lambda m: [], []),
        (lambda m: [shout(m.regions[1])], ["1"]),
        (lambda m: [shout(r) for r in reversed(m.regions)], ["1", "0"]),
        (lambda m: [shout(m.regions[0])] * 3, ["0", "0", "0"]),
        (lambda m: [reading("no-such-line", "x"), shout(m.regions[0])], ["no-such-line", "0"]),
        (
            lambda m: [Refined(id="0", error=Failure(code="bad_image", message="torn"))],
            ["0"],
        ),
    ],
)
async def test_an_answer_of_any_completeness_is_a_reply(
    make: Callable[[Any], list[Refined]], ids: list[str]
) -> None:
    with fake_cloud(results(make)) as cloud:
        reply = await ask(cloud.url)
    assert [r.id for r in reply.results] == ids


async def test_unknown_fields_are_ignored() -> None:
    with fake_cloud(changed(weather="fine", timings={"infer_ms": 3, "mood": "good"})) as cloud:
        assert len((await ask(cloud.url)).results) == 2


async def test_what_a_request_says_of_itself() -> None:
    with fake_cloud(right) as cloud:
        await ask(f"{cloud.url}/", token="s3cret", deadline=5.0)
        await ask(cloud.url)
    first, second = cloud.calls
    assert first.headers["Authorization"] == "Bearer s3cret"
    assert "Authorization" not in second.headers
    for call in cloud.calls:
        assert call.headers["Content-Type"] == CONTENT_TYPE
        assert call.headers["X-Request-Id"] == call.message.request_id
        assert 0 < int(call.headers["X-Deadline-Ms"]) <= 5000
        assert call.message.device == "kiosk" and call.message.page == PAGE
    assert first.headers["X-Request-Id"] != second.headers["X-Request-Id"]
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]


def test_the_key_follows_the_content() -> None:
    key = idempotency_key(PAGE, REGIONS)
    assert key == idempotency_key(replace(PAGE), tuple(replace(r) for r in REGIONS))
    others = [
        idempotency_key(replace(PAGE, id="doc/1"), REGIONS),
        idempotency_key(replace(PAGE, width=1001), REGIONS),
        idempotency_key(PAGE, REGIONS[:1]),
        idempotency_key(PAGE, REGIONS[::-1]),
        idempotency_key(PAGE, (replace(REGIONS[0], image=b"x"), REGIONS[1])),
        idempotency_key(PAGE, (replace(REGIONS[0], id="2"), REGIONS[1])),
    ]
    assert len({key, *others}) == 7


# -- refusals ----------------------------------------------------------------------------------

BY_STATUS = {
    400: "bad_request",
    401: "unauthorized",
    403: "unauthorized",
    404: "unavailable",
    413: "too_large",
    415: "unsupported_format",
    418: "bad_request",
    422: "bad_request",
    429: "rate_limited",
    500: "unavailable",
    502: "unavailable",
    503: "over_capacity",
    504: "deadline_exceeded",
}


@pytest.mark.parametrize(("code", "name"), BY_STATUS.items())
async def test_a_bare_status_has_a_code(code: int, name: str) -> None:
    with fake_cloud(status(code, b"<h1>no</h1>", Retry_After="60")) as cloud:
        error = await refused(cloud.url)
    assert error.code == name
    assert str(code) in error.message
    assert len(cloud.calls) == 1  # not to be repeated, or not within the deadline


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (problem(422, {"code": "bad_image", "detail": "no crop"}), "bad_image"),
        (problem(401, {"code": "unauthorized", "title": "Who are you?"}), "unauthorized"),
        (problem(500, {"code": "internal"}, Retry_After="60"), "internal"),
        (problem(503, {"code": "unavailable"}, Retry_After="60"), "unavailable"),
        (problem(400, {"code": "incompatible_version"}), "incompatible_version"),
        (problem(422, {"code": "no_such_code", "detail": "?"}), "bad_request"),
        (problem(401, {"code": None, "detail": ["a", {}]}), "unauthorized"),
        (problem(401, {"code": ["unauthorized"]}), "unauthorized"),
        (problem(401, {"code": {}}), "unauthorized"),
        (problem(401, {"code": 7}), "unauthorized"),
        (problem(401, ["code"]), "unauthorized"),
        (problem(401, "code"), "unauthorized"),
        (problem(401, b"{"), "unauthorized"),
        (problem(401, b""), "unauthorized"),
        (problem(401, b"\xff\xfe\x00"), "unauthorized"),
        (problem(401, b"[" * 200_000), "unauthorized"),
        (problem(401, b"{}", charset="no-such-charset"), "unauthorized"),
        (problem(401, b"{}", charset="hex"), "unauthorized"),
        (problem(401, {"code": "unauthorized", "detail": "x" * 100_000}), "unauthorized"),
    ],
)
async def test_a_problem_document_is_believed_as_far_as_it_makes_sense(
    answer: Answer, name: str
) -> None:
    with fake_cloud(answer) as cloud:
        error = await refused(cloud.url)
    assert error.code == name
    assert len(error.message) < 1000
    assert len(cloud.calls) == 1


async def test_a_problem_document_is_shown_to_people() -> None:
    with fake_cloud(problem(413, {"code": "too_large", "detail": "at most 5 regions"})) as cloud:
        assert "at most 5 regions" in (await refused(cloud.url)).message


async def test_a_server_cannot_write_to_a_terminal_through_us() -> None:
    document = {"code": "unauthorized", "detail": "no\r\n\x1b[31mtierocr: all\x07 is\u202e well"}
    with fake_cloud(problem(401, document)) as cloud:
        assert (await refused(cloud.url)).message.isprintable()


async def test_a_problem_document_without_end_is_not_waited_for() -> None:
    limits = WireLimits(body_bytes=100_000)
    with fake_cloud(endless(401, "application/problem+json")) as cloud:
        error = await refused(cloud.url, deadline=2.0, limits=limits)
    assert error.code == "unauthorized"


# -- nonsense ----------------------------------------------------------------------------------


def cut(call: Call) -> bytes:
    return packed(call, [shout(r) for r in call.message.regions])[:-20]


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\xc0"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(body(b""), id="nothing"),
        pytest.param(body(b"\x00\xff\xc1" * 50), id="garbage"),
        pytest.param(body(b"<html>Please log in</html>", "text/html"), id="html"),
        pytest.param(body(b'{"v": 1}', "application/json"), id="json"),
        pytest.param(body(cut), id="truncated"),
        pytest.param(body(lambda call: packed(call, []) + b"\x00"), id="too long"),
        pytest.param(body(lambda call: packed(call, [], request_id="other")), id="other request"),
        pytest.param(body(nested(100_000)), id="deep"),
        pytest.param(body(b"\xdd\xff\xff\xff\xff"), id="four thousand million items"),
        pytest.param(body(b"\xc7\x0c\xff" + bytes(12)), id="a timestamp"),
        pytest.param(body(b"\xd4\x05\x00"), id="an extension"),
        pytest.param(body(b"\x81\x01\x02"), id="a number for a key"),
        pytest.param(changed(v="1"), id="version is a text"),
        pytest.param(changed(results=None), id="no results"),
        pytest.param(changed(results={"0": "ALPHA"}), id="results is a map"),
        pytest.param(changed(results=["ALPHA"]), id="a result is a text"),
        pytest.param(changed(results=[{"id": "0"}] * 600), id="too many results"),
        pytest.param(changed(results=[{"id": "0", "text": 5}]), id="text is a number"),
        pytest.param(changed(engine=[]), id="engine is a list"),
        pytest.param(bad_gzip, id="damaged compression"),
        pytest.param(wire(b"SSH-2.0-OpenSSH_9.6\r\n"), id="another protocol"),
        pytest.param(wire(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), id="bad header"),
        pytest.param(wire(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nab"), id="short body"),
        pytest.param(wire(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"), id="chunk"),
        pytest.param(wire(b""), id="closed at once"),
        pytest.param(hang_up, id="reset at once"),
        pytest.param(reset_midway, id="reset midway"),
        pytest.param(status(307, Location="/v1/refine"), id="redirect in a circle"),
        pytest.param(status(302, Location="ftp://127.0.0.1/"), id="redirect to elsewhere"),
    ],
)
async def test_nonsense_is_as_good_as_no_cloud(answer: Answer) -> None:
    started = time.monotonic()
    with fake_cloud(answer) as cloud:
        error = await refused(cloud.url, deadline=0.5)
        assert cloud.calls
    assert error.code in ("unavailable", "deadline_exceeded")
    assert error.message.isprintable()
    assert time.monotonic() - started < 0.5 + SLACK


@pytest.mark.parametrize("score", [1.5, -0.1, float("nan"), float("inf"), "1", True, None])
async def test_a_probability_is_one_or_the_reply_is_nonsense(score: object) -> None:
    row = {"id": "0", "text": "ALPHA", "score_raw": score, "confidence": 0.5}
    with fake_cloud(changed(results=[row])) as cloud:
        assert (await refused(cloud.url)).code == "unavailable"


@pytest.mark.parametrize("version", [0, 2, 2**31 - 1])
async def test_another_version_is_told_apart(version: int) -> None:
    with fake_cloud(changed(v=version)) as cloud:
        assert (await refused(cloud.url)).code == "incompatible_version"
        assert len(cloud.calls) == 1


@pytest.mark.parametrize("answer", [body(bytes(300_000)), endless(200, CONTENT_TYPE)])
async def test_no_more_is_read_than_the_limit_and_that_once(answer: Answer) -> None:
    with fake_cloud(answer) as cloud:
        error = await refused(cloud.url, deadline=2.0, limits=WireLimits(body_bytes=100_000))
    assert error.code == "unavailable"
    assert len(cloud.calls) == 1


async def test_nothing_is_sent_to_where_a_redirect_points() -> None:
    with fake_cloud(right) as other:
        for code in (301, 302, 307, 308):
            with fake_cloud(status(code, Location=f"{other.url}/v1/refine")) as cloud:
                await refused(cloud.url, deadline=0.4)
        assert other.calls == []


# -- nobody there ------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [hang, hang_midway])
async def test_the_deadline_is_kept(answer: Answer) -> None:
    with fake_cloud(answer) as cloud:
        started = time.monotonic()
        error = await refused(cloud.url, deadline=0.5)
        assert time.monotonic() - started < 0.5 + SLACK
    assert error.code == "deadline_exceeded"
    assert len(cloud.calls) == 1


async def test_nothing_listens() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        started = time.monotonic()
        error = await refused(f"http://127.0.0.1:{taken.getsockname()[1]}", deadline=0.5)
    assert error.code == "unavailable"
    assert time.monotonic() - started < 0.5 + SLACK


async def test_somebody_listens_who_never_accepts() -> None:
    with closing(socket.socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        started = time.monotonic()
        error = await refused(f"http://127.0.0.1:{deaf.getsockname()[1]}", deadline=0.5)
    assert error.code == "deadline_exceeded"
    assert time.monotonic() - started < 0.5 + SLACK


@pytest.mark.parametrize("url", ["", "http://", "http://[::1", "http://127.0.0.1:99999", "nil:"])
async def test_an_address_that_is_none(url: str) -> None:
    assert (await refused(url, deadline=0.3)).code == "unavailable"


async def test_a_token_that_no_header_can_carry() -> None:
    with fake_cloud(right) as cloud:
        error = await refused(cloud.url, deadline=0.3, token="two\r\nlines: 1")
        assert cloud.calls == [] and error.code in ("unavailable", "config_invalid")


# -- trying again ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        status(500),
        status(503, Retry_After="0"),
        status(503, Retry_After="soon"),
        status(429, Retry_After="-1"),
        problem(504, {"code": "deadline_exceeded"}),
        hang_up,
        reset_midway,
    ],
)
async def test_what_may_pass_is_tried_again(first: Answer) -> None:
    with fake_cloud(first, right) as cloud:
        reply = await ask(cloud.url, token="s3cret", deadline=10.0)
    assert reply.results[0].text == "ALPHA"
    once, again = cloud.calls
    for name in ("Idempotency-Key", "X-Request-Id", "Authorization"):
        assert once.headers[name] == again.headers[name]
    assert once.body == again.body
    assert int(again.headers["X-Deadline-Ms"]) <= int(once.headers["X-Deadline-Ms"])


@pytest.mark.parametrize("code", [429, 503])
async def test_no_sooner_than_the_server_asked(code: int) -> None:
    with fake_cloud(status(code, Retry_After="0.5"), right) as cloud:
        await ask(cloud.url, deadline=10.0)
    once, again = cloud.calls
    assert again.at - once.at >= 0.49


async def test_who_does_not_insist_is_told_at_once() -> None:
    with fake_cloud(status(503, Retry_After="0.5"), right) as cloud:
        address = CloudAddress(url=cloud.url, deadline=10.0)
        async with Refiner(address, insist=False) as refiner:
            with pytest.raises(Refusal) as caught:
                await refiner.refine(PAGE, REGIONS)
            assert (caught.value.code, caught.value.retry_after) == ("over_capacity", 0.5)
    assert len(cloud.calls) == 1


async def test_not_at_all_where_that_would_be_too_late() -> None:
    for asked in ("60", "inf", "1e999"):
        with fake_cloud(status(429, Retry_After=asked), right) as cloud:
            started = time.monotonic()
            assert (await refused(cloud.url, deadline=30.0)).code == "rate_limited"
            assert len(cloud.calls) == 1
            assert time.monotonic() - started < 10


async def test_what_cannot_pass_is_not_tried_again() -> None:
    with fake_cloud(status(401), right) as cloud:
        await refused(cloud.url)
        assert len(cloud.calls) == 1


# -- the circuit -------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_the_circuit_opens_and_a_probe_closes_it() -> None:
    clock = Clock()
    breaker = Breaker(failures_to_open=2, rest=30)
    with fake_cloud(status(401), status(401), status(401), right) as cloud:
        address = CloudAddress(url=cloud.url, deadline=5.0)
        async with Refiner(address, breaker=breaker, clock=clock) as refiner:

            async def code() -> str:
                with pytest.raises(TierocrError) as caught:
                    await refiner.refine(PAGE, REGIONS)
                return caught.value.code

            assert [await code() for _ in range(2)] == ["unauthorized"] * 2
            assert [await code() for _ in range(5)] == ["unavailable"] * 5
            assert len(cloud.calls) == 2  # nothing was sent while the circuit was open
            clock.now += 30
            assert await code() == "unauthorized"  # the probe
            assert await code() == "unavailable"
            assert len(cloud.calls) == 3
            clock.now += 30
            for _ in range(3):
                assert len((await refiner.refine(PAGE, REGIONS)).results) == 2
            assert len(cloud.calls) == 6


async def test_one_probe_at_a_time() -> None:
    clock = Clock()
    with fake_cloud(status(401), after(0.3, right)) as cloud:
        address = CloudAddress(url=cloud.url, deadline=5.0)
        breaker = Breaker(failures_to_open=1)
        async with Refiner(address, breaker=breaker, clock=clock) as refiner:
            with pytest.raises(TierocrError):
                await refiner.refine(PAGE, REGIONS)
            clock.now += 1000
            calls = [refiner.refine(PAGE, REGIONS) for _ in range(4)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(o, RefineReply) for o in outcomes) == 1
    others = [o.code for o in outcomes if isinstance(o, TierocrError)]
    assert others == ["unavailable"] * 3
    assert len(cloud.calls) == 2


async def test_a_probe_that_was_given_up_does_not_keep_the_circuit_open() -> None:
    clock = Clock()
    with fake_cloud(status(401), hang, right) as cloud:
        address = CloudAddress(url=cloud.url, deadline=20.0)
        breaker = Breaker(failures_to_open=1)
        async with Refiner(address, breaker=breaker, clock=clock) as refiner:
            with pytest.raises(TierocrError):
                await refiner.refine(PAGE, REGIONS)
            clock.now += 1000
            probe = asyncio.create_task(refiner.refine(PAGE, REGIONS))
            await asyncio.to_thread(cloud.wait_for_calls, 2)
            probe.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probe
            clock.now += 1000
            assert len((await refiner.refine(PAGE, REGIONS)).results) == 2


async def test_many_calls_share_few_connections() -> None:
    with fake_cloud(after(0.02, right)) as cloud:
        async with Refiner(CloudAddress(url=cloud.url, deadline=10.0)) as refiner:
            replies = await asyncio.gather(*(refiner.refine(PAGE, REGIONS) for _ in range(20)))
    assert all(len(r.results) == 2 for r in replies)
    ids = {call.message.request_id for call in cloud.calls}
    assert len(ids) == 20
