"""One trace from a device through the service, in answers and in logs; no secrets in either."""

from __future__ import annotations

import io
import json
import logging
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloud.conftest import Serve, body_of, post, region
from tests.fakes.painted import paint
from tierocr.cloud.logs import JsonFormatter
from tierocr.cloud.tokens import add_token
from tierocr.cloud.tracing import HEADER, trace_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{SPAN}-01"


def test_a_callers_trace_goes_on_in_a_span_of_ours() -> None:
    trace = trace_of(GIVEN)
    assert (trace.trace, trace.parent, trace.flags) == (TRACE, SPAN, "01")
    assert trace.span != SPAN and trace.header == f"00-{TRACE}-{trace.span}-01"
    assert trace_of(f"01-{TRACE}-{SPAN}-00-more").trace == TRACE, "a later version"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        GIVEN.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        GIVEN + "\n",
    ],
)
def test_without_one_a_trace_begins_here(header: str | None) -> None:
    trace = trace_of(header)
    assert trace.parent is None and trace.trace != TRACE
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", trace.header)


@given(st.text(max_size=80))
def test_whatever_comes_a_trace_comes_of_it(header: str) -> None:
    next_one = trace_of(trace_of(header).header)
    assert next_one.parent is not None and next_one.span != next_one.parent


async def test_every_answer_names_the_trace_and_every_log_line_too(
    serve: Serve, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.jsonl"
    secret = add_token(tokens, "kiosk", "now")
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        client = await serve(auth={"tokens_file": str(tokens)})
        body = body_of(region("x", paint("ab")), region("y", paint("a!b")))
        good = await post(
            client,
            body,
            Authorization=f"Bearer {secret}",
            Idempotency_Key="private-key",
            traceparent=GIVEN,
            X_Request_Id="scan-7",
        )
        bad = await post(client, body, Authorization=f"Bearer {secret[:-1]}x", traceparent="no")
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert (good.status, bad.status) == (200, 401)
    assert good.headers[HEADER].split("-")[1] == TRACE
    assert bad.headers[HEADER].split("-")[1] != TRACE
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ours = [line for line in lines if line.get("request_id") == "scan-7"]
    assert {line["trace_id"] for line in ours} == {TRACE}
    (request,) = (line for line in ours if line["message"] == "request")
    assert request["parent_id"] == SPAN and request["span_id"] in good.headers[HEADER]
    said = out.getvalue()
    assert secret not in said and secret[:-1] not in said and "Bearer" not in said
    for private in ("private-key", "Authorization"):
        assert private not in said
