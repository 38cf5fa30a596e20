"""What is to be sent of a page, as the bytes of a file: msgpack, pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgpack

from tierocr.edge.sending import Sending
from tierocr.shared.errors import TierocrError
from tierocr.shared.protocol import RegionImage

_REGION = ("id", "image", "format", "margin", "text", "p_error", "angle")


def pack_sendings(sent: Sequence[Sending]) -> bytes:
    """The bytes of these."""
    rows = [
        {"index": s.index, "quad": s.quad, **{name: getattr(s.region, name) for name in _REGION}}
        for s in sent
    ]
    packed: bytes = msgpack.packb(rows, unicode_errors="surrogateescape")
    return packed


def unpack_sendings(data: bytes) -> tuple[Sending, ...]:
    """What they were made from. Raises TierocrError `internal` for bytes that are damaged."""
    try:
        rows = msgpack.unpackb(data, unicode_errors="surrogateescape")
        return tuple(_sending(row) for row in rows)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise TierocrError("internal", f"stored crops are damaged: {error!r}") from error


def _sending(row: dict[str, Any]) -> Sending:
    a, b, c, d = ((float(x), float(y)) for x, y in row["quad"])
    region = RegionImage(**{name: row[name] for name in _REGION})
    return Sending(index=row["index"], quad=(a, b, c, d), region=region)
