from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.decoding.messages import (
    LENGTH_BYTES,
    LONGEST,
    End,
    Open,
    Opened,
    PageHeader,
    Refused,
    framed,
    header_of,
    length_of,
    pack_next,
    pack_open,
    pack_reply,
    unpack_reply,
    unpack_request,
)
from tierocr.shared.document import IDENTITY, Failure, PageImage
from tierocr.shared.images import Limits, PageFailure

LIMITS = Limits(max_pixels=10_000, max_pages=20)
HEADER = PageHeader(
    index=3,
    width=50,
    height=70,
    dpi=199.5,
    orientation=90,
    transform=IDENTITY,
    warnings=("odd",),
)
BAD = Failure(code="bad_image", message="ümläut")


@pytest.mark.parametrize(
    "reply",
    [
        HEADER,
        End(),
        Opened(count=None),
        Opened(count=20),
        Refused(failure=BAD),
        PageFailure(index=0, failure=BAD),
    ],
)
def test_a_reply_arrives_as_it_was_sent(reply: PageHeader) -> None:
    assert unpack_reply(pack_reply(reply), LIMITS) == reply


def test_a_request_arrives_as_it_was_sent() -> None:
    request = Open(size=12, first=3, limits=LIMITS)
    assert unpack_request(pack_open(request)) == request
    assert unpack_request(pack_next()) is None


@pytest.mark.parametrize(
    "change",
    [
        {"width": 0},
        {"width": 200},
        {"width": True},
        {"height": "70"},
        {"index": -1},
        {"index": 21},
        {"dpi": float("nan")},
        {"orientation": 45},
        {"transform": [[1, 0], [0, 1]]},
        {"transform": [[1, 0, 0], [0, 1, 0], [0, 0, "1"]]},
        {"warnings": "abc"},
        {"warnings": [1]},
        {"warnings": ["x"] * 100},
    ],
)
def test_a_header_that_is_none_is_refused(change: dict[str, object]) -> None:
    values = json.loads(pack_reply(HEADER))["PageHeader"]
    message = json.dumps({"PageHeader": values | change}).encode()
    with pytest.raises(ValueError, match="strange"):
        unpack_reply(message, LIMITS)


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["Opened", "Refused", "PageFailure", "PageHeader", "failure", "count"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_it_says_is_a_reply_or_a_value_error(message: bytes) -> None:
    try:
        reply = unpack_reply(message, LIMITS)
    except ValueError:
        return
    assert isinstance(reply, (Opened, Refused, End, PageHeader, PageFailure))


def test_a_code_must_stand_in_the_table() -> None:
    message = pack_reply(Refused(failure=Failure(code="made_up", message="")))
    with pytest.raises(ValueError, match="table"):
        unpack_reply(message, LIMITS)


def test_what_a_decoder_has_to_say_always_fits() -> None:
    long = "\U0001f600\ud800" * 10_000
    failure = PageFailure(index=0, failure=Failure(code="bad_image", message=long))
    page = PageImage(pixels=np.zeros((2, 2, 3), np.uint8), warnings=(long,) * 100)
    for reply in (failure, Refused(failure=failure.failure), header_of(page)):
        packed = pack_reply(reply)
        assert len(packed) <= LONGEST
        assert isinstance(unpack_reply(packed, LIMITS), type(reply))


def test_a_frame_has_a_bounded_length() -> None:
    assert length_of(framed(b"abc")[:LENGTH_BYTES]) == 3
    with pytest.raises(ValueError, match="frame"):
        length_of((LONGEST + 1).to_bytes(LENGTH_BYTES, "big"))
