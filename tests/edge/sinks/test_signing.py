from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.sinks.signing import sign, verify


@given(st.binary(min_size=1), st.binary(), st.integers(0, 2**40))
def test_what_was_signed_is_believed_and_nothing_else(secret: bytes, body: bytes, now: int) -> None:
    header = sign(secret, body, now)
    assert verify(secret, body, header, now + 300.0)
    assert not verify(secret, body, header, now + 301.0)
    assert not verify(secret, body, header, now - 301.0)
    assert not verify(secret + b"x", body, header, now)
    assert not verify(secret, body + b"x", header, now)
    later = sign(secret, body, now + 1).partition(",")[2]
    assert not verify(secret, body, f"t={now},{later}", now)


@pytest.mark.parametrize("header", ["", "t=1", "v1=00", "t=x,v1=00", "t=1,v1=é"])
def test_nonsense_is_not_believed(header: str) -> None:
    assert not verify(b"key", b"body", header, 1)


def test_the_form_is_the_one_that_is_told() -> None:
    digest = hmac.new(b"key", b"17.body", hashlib.sha256).hexdigest()
    assert sign(b"key", b"body", 17) == f"t=17,v1={digest}"
