from __future__ import annotations

import json
import logging
import os
import sys

import pytest

from tierocr.edge.logs import JsonFormatter, configure_logging


def line(message: str, **more: object) -> dict[str, object]:
    record = logging.LogRecord("tierocr", logging.INFO, "x.py", 1, message, None, None)
    for name, value in more.items():
        setattr(record, name, value)
    text = JsonFormatter().format(record)
    assert "\n" not in text and text.encode()
    found: dict[str, object] = json.loads(text)
    return found


def test_an_event_is_one_line_with_its_fields() -> None:
    found = line("read", fields={"document": "sha256-1", "file": "合计.png"})
    assert (found["message"], found["level"], found["document"]) == ("read", "info", "sha256-1")
    assert found["file"] == "合计.png"


def test_names_that_are_no_text_do_not_break_it() -> None:
    assert line("read", fields={"file": os.fsdecode(b"\xff.png")})["file"] == "\udcff.png"


def test_what_was_not_expected_is_told_with_its_place() -> None:
    try:
        raise TypeError("what")
    except TypeError:
        found = line("failed", exc_info=sys.exc_info())
    assert "TypeError: what" in str(found["exception"])


@pytest.mark.parametrize(
    ("level", "ours", "others"),
    [
        ("debug", logging.DEBUG, logging.DEBUG),
        ("info", logging.INFO, logging.WARNING),
        ("error", logging.ERROR, logging.ERROR),
    ],
)
def test_libraries_are_quiet(level: str, ours: int, others: int) -> None:
    root, own = logging.getLogger(), logging.getLogger("tierocr")
    before = root.level, own.level, root.handlers[:]
    try:
        configure_logging(level)
        assert logging.getLogger("tierocr.edge").getEffectiveLevel() == ours
        assert logging.getLogger("pikepdf").getEffectiveLevel() == others
    finally:
        root.setLevel(before[0])
        own.setLevel(before[1])
        root.handlers[:] = before[2]
