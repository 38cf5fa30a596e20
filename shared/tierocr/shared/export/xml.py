"""Text that is safe in XML; shared by the exporters that write it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_IN_ATTRIBUTES = {**_ESCAPED, "\n": "&#10;", "\t": "&#9;"}


def text(value: str) -> str:
    """As the content of an element; what XML cannot hold becomes U+FFFD."""
    return _escape(value, _ESCAPED)


def attributes(values: Mapping[str, object]) -> str:
    """Attributes with a space before each."""
    return "".join(f' {k}="{_escape(str(v), _IN_ATTRIBUTES)}"' for k, v in values.items())


def _escape(value: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(c, c) for c in _NOT_ALLOWED.sub("\ufffd", value))
