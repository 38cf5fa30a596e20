"""What is an address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.addresses import is_web_address


@pytest.mark.parametrize("url", ["http://a", "https://ocr.example.org:8501/x", "http://[::1]:80"])
def test_addresses(url: str) -> None:
    assert is_web_address(url)


@pytest.mark.parametrize(
    "url", ["", "a", "http://", "https:///x", "ftp://a", "http://a:b", "http://a:70000", "http://["]
)
def test_others(url: str) -> None:
    assert not is_web_address(url)


@given(st.text())
def test_any_text_is_one_or_none(text: str) -> None:
    is_web_address(text), is_web_address("http://" + text)
