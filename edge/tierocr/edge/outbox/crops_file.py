"""What is to be sent of a page, as the bytes of a file: msgpack, pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgpack

from tierocr.edge.sending import Sending, Sent, WholePage
from tierocr.shared.errors import TierocrError
from tierocr.shared.protocol import RegionImage

_REGION = ("id", "image", "format", "margin", "text", "p_error", "angle")
_WHOLE = ("image", "format", "width", "height")


def pack_sent(sent: Sent) -> bytes:
    """The bytes of these: an array of lines, or a map for a whole page."""
    if isinstance(sent, WholePage):
        values = {name: getattr(sent, name) for name in _WHOLE}
        return _packed({**values, "stay": sorted(sent.stay), "sure": sorted(sent.sure)})
    return _packed(_rows(sent))


def _rows(sent: Sequence[Sending]) -> list[dict[str, Any]]:
    return [
        {"index": s.index, "quad": s.quad, **{name: getattr(s.region, name) for name in _REGION}}
        for s in sent
    ]


def unpack_sent(data: bytes) -> Sent:
    """What it was made from. Raises TierocrError `internal` for bytes that are damaged."""
    try:
        found = msgpack.unpackb(data, unicode_errors="surrogateescape")
        if isinstance(found, dict):
            return _whole(found)
        return tuple(_sending(row) for row in found)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise TierocrError("internal", f"stored crops are damaged: {error!r}") from error


def _packed(value: object) -> bytes:
    packed: bytes = msgpack.packb(value, unicode_errors="surrogateescape")
    return packed


def _sending(row: dict[str, Any]) -> Sending:
    a, b, c, d = ((float(x), float(y)) for x, y in row["quad"])
    region = RegionImage(**{name: row[name] for name in _REGION})
    return Sending(index=row["index"], quad=(a, b, c, d), region=region)


def _whole(row: dict[str, Any]) -> WholePage:
    values = {name: row[name] for name in _WHOLE}
    return WholePage(**values, stay=frozenset(row["stay"]), sure=frozenset(row["sure"]))
