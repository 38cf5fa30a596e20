"""What the service and a decoder process say to each other: frames of JSON.

Pure. A decoder works on hostile bytes and may have been taken over by them, so its side is not
believed: a reply is checked field by field, and pixels travel beside it as plain bytes.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from tierocr.shared.document import Failure, Matrix3, PageImage
from tierocr.shared.errors import ERROR_CODES
from tierocr.shared.images import Limits, PageFailure

LENGTH_BYTES = 4
LONGEST = 1 << 16
"""Bytes of the longest frame."""

_LONGEST_TEXT = 500
_MOST_WARNINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A file of so many bytes stands in the shared memory; its pages from `first` on are wanted."""

    size: int
    first: int
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The file has so many pages, None where that cannot be told."""

    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The file as a whole cannot be decoded."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """There is no further page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHeader:
    """A page whose pixels, (H, W, 3) uint8, stand in the shared memory."""

    index: int
    width: int
    height: int
    dpi: float | None
    orientation: int
    transform: Matrix3
    warnings: tuple[str, ...]


Reply = Opened | Refused | End | PageHeader | PageFailure


def framed(message: bytes) -> bytes:
    """The message with its length before it."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


def length_of(prefix: bytes) -> int:
    """The length of the frame that follows. Raises ValueError when it is over `LONGEST`."""
    length = int.from_bytes(prefix, "big")
    if length > LONGEST:
        raise ValueError(f"a frame of {length} bytes")
    return length


def pack_open(message: Open) -> bytes:
    """A request to open a file."""
    return json.dumps(asdict(message)).encode()


def pack_next() -> bytes:
    """A request for the next page."""
    return b"{}"


def unpack_request(data: bytes) -> Open | None:
    """What the service asks for; None stands for the next page. It is believed."""
    values = json.loads(data)
    if not values:
        return None
    return Open(size=values["size"], first=values["first"], limits=Limits(**values["limits"]))


def header_of(page: PageImage) -> PageHeader:
    """What is said about a page."""
    return PageHeader(
        index=page.index,
        width=page.width,
        height=page.height,
        dpi=page.dpi,
        orientation=page.orientation,
        transform=page.transform,
        warnings=tuple(w[:_LONGEST_TEXT] for w in page.warnings[:_MOST_WARNINGS]),
    )


def pack_reply(reply: Reply) -> bytes:
    """The reply as JSON, by the name of its kind; no longer than `LONGEST`."""
    if isinstance(reply, (PageFailure, Refused)):
        short = replace(reply.failure, message=reply.failure.message[:_LONGEST_TEXT])
        reply = replace(reply, failure=short)
    text = json.dumps({type(reply).__name__: asdict(reply)}, ensure_ascii=False)
    return text.encode("utf-8", "replace")


def unpack_reply(data: bytes, limits: Limits) -> Reply:
    """A reply, checked. Raises ValueError for anything that a decoder would not say."""
    try:
        ((kind, values),) = json.loads(data).items()
        return _reply(kind, values, limits)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"a decoder said something strange: {error}") from error


def _reply(kind: str, values: dict[str, Any], limits: Limits) -> Reply:
    if kind == "Opened":
        count = values["count"]
        return Opened(count=None if count is None else _whole(count, 0, limits.max_pages))
    if kind == "Refused":
        return Refused(failure=_failure(values["failure"]))
    if kind == "End":
        return End()
    index = _whole(values["index"], 0, limits.max_pages)
    if kind == "PageFailure":
        return PageFailure(index=index, failure=_failure(values["failure"]))
    if kind != "PageHeader":
        raise ValueError(f"kind {kind!r}")
    width, height = _whole(values["width"], 1, 1 << 31), _whole(values["height"], 1, 1 << 31)
    if not limits.allow_size(width, height):
        raise ValueError(f"{width} x {height} pixels")
    rows = tuple(tuple(_number(v) for v in row) for row in values["transform"])
    if [len(row) for row in rows] != [3, 3, 3]:
        raise ValueError("a transform of another shape")
    warnings = values["warnings"]
    if not isinstance(warnings, list) or len(warnings) > _MOST_WARNINGS:
        raise ValueError("too many warnings")
    if values["orientation"] not in (0, 90, 180, 270):
        raise ValueError("an orientation that is none")
    return PageHeader(
        index=index,
        width=width,
        height=height,
        dpi=None if values["dpi"] is None else _number(values["dpi"]),
        orientation=values["orientation"],
        transform=cast(Matrix3, rows),
        warnings=tuple(_text(w) for w in warnings),
    )


def _failure(values: dict[str, Any]) -> Failure:
    code = values["code"]
    if not isinstance(code, str) or code not in ERROR_CODES:
        raise ValueError("a code that is not in the table")
    return Failure(code=code, message=_text(values["message"]))


def _whole(value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r} is not between {least} and {most}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value[:_LONGEST_TEXT]
