from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.outbox.naming import output_name, plain_name

names = st.lists(
    st.binary(min_size=1, max_size=300).filter(lambda b: b"/" not in b and b"\0" not in b),
    min_size=1,
    max_size=3,
).map(lambda parts: os.fsdecode(b"/".join(parts)))


def test_a_name_that_is_taken_gets_a_number() -> None:
    taken = {"a/scan.jpg", "a/scan.2.jpg"}
    assert output_name("a/scan.jpg", taken.__contains__) == "a/scan.3.jpg"
    assert output_name("b.jpg", taken.__contains__) == "b.jpg"


@given(names)
def test_any_name_stays_inside_its_folder(name: str) -> None:
    found = output_name(name, lambda n: False)
    assert not found.startswith("/") and ".." not in found.split("/")
    assert all(0 < len(os.fsencode(part)) <= 200 for part in found.split("/"))
    assert output_name(name, {found}.__contains__) != found


@given(names)
def test_a_plain_name_is_text(name: str) -> None:
    found = plain_name(name)
    assert found.encode() and not set('<>:"\\|?*\0') & set(found)


def test_names_keep_their_form() -> None:
    decomposed, gbk = "u\u0308ber.jpg", os.fsdecode("扫描.jpg".encode("gbk"))
    assert output_name(decomposed, lambda n: False) == decomposed
    assert output_name(gbk, lambda n: False) == gbk
    assert plain_name("扫描 1.jpg") == "扫描 1.jpg"
    assert plain_name(gbk).endswith(".jpg") and plain_name(gbk) != gbk
