"""The wire protocol `tierocr.refine/1`: messages as values, packed with msgpack.

Pure: bytes in, values out; no sockets, no clock. Unknown fields are ignored, an unknown major
version is refused, and every length is bounded before anything is allocated. Answers are keyed by
region id; partial answers are normal. The deadline travels in a header, never here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from tierocr.shared.document import EngineInfo, Failure
from tierocr.shared.errors import ERROR_CODES, TierocrError

VERSION = 1
CONTENT_TYPE = "application/msgpack"
FORMATS = ("webp", "jpeg", "png")
_OVER_A_LIMIT = re.compile("exceeds max_(bin|str|array|map)_len")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """Bounds on one message. `body_bytes` bounds the whole, `image_bytes` one crop."""

    body_bytes: int = 16 << 20
    image_bytes: int = 4 << 20
    regions: int = 512
    text_length: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRef:
    """The page that regions were cut from: its id in the sender's terms, its size in pixels."""

    id: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionImage:
    """One crop to be read again.

    `image`: its encoded bytes in `format`. `margin`: pixels of the crop's own scale around the
    region. `text`, `p_error`: what the edge read and how likely that is wrong. `angle`: see
    `Line.angle`.
    """

    id: str
    image: bytes
    format: str
    margin: float = 0.0
    text: str = ""
    p_error: float = 0.0
    angle: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineRequest:
    """Regions of one page."""

    request_id: str
    device: str
    page: PageRef
    regions: tuple[RegionImage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedChar:
    """One character; `start`, `end`: fractions of the crop's width."""

    text: str
    score_raw: float
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The answer for one region: a reading, or `error`.

    `confidence` is calibrated if `calibrated` is true, otherwise equal to `score_raw`.
    """

    id: str
    text: str = ""
    chars: tuple[RefinedChar, ...] = ()
    score_raw: float = 0.0
    confidence: float = 0.0
    calibrated: bool = False
    alternatives: tuple[str, ...] = ()
    error: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineReply:
    """Answers in any order, possibly fewer than asked for. `timings` in milliseconds."""

    request_id: str
    engine: EngineInfo
    results: tuple[Refined, ...]
    timings: Mapping[str, float]


def pack_request(request: RefineRequest) -> bytes:
    """A request as msgpack."""
    return _pack(
        {
            "v": VERSION,
            "request_id": request.request_id,
            "device": request.device,
            "page": {
                "id": request.page.id,
                "width": request.page.width,
                "height": request.page.height,
            },
            "regions": [
                {
                    "id": r.id,
                    "image": r.image,
                    "format": r.format,
                    "margin": r.margin,
                    "text": r.text,
                    "p_error": r.p_error,
                    "angle": r.angle,
                }
                for r in request.regions
            ],
        }
    )


def unpack_request(body: bytes, limits: WireLimits) -> RefineRequest:
    """Raises TierocrError `bad_request`, `too_large` or `incompatible_version`; nothing else."""
    message = _Fields(_unpack(body, limits), "request")
    page = _Fields(message.mapping("page"), "page")
    rows = message.sequence("regions")
    if len(rows) > limits.regions:
        raise TierocrError("too_large", f"{len(rows)} regions, at most {limits.regions}")
    regions = tuple(_region(row, limits) for row in rows)
    if len({r.id for r in regions}) != len(regions):
        raise TierocrError("bad_request", "two regions have the same id")
    return RefineRequest(
        request_id=message.text("request_id", 200),
        device=message.text("device", 200),
        page=PageRef(
            id=page.text("id", 200), width=page.whole("width"), height=page.whole("height")
        ),
        regions=regions,
    )


def pack_reply(reply: RefineReply) -> bytes:
    """A reply as msgpack."""
    return _pack(
        {
            "v": VERSION,
            "request_id": reply.request_id,
            "engine": {
                "pack": reply.engine.pack,
                "precision": reply.engine.precision,
                "runtime": reply.engine.runtime,
            },
            "results": [_result(r) for r in reply.results],
            "timings": dict(reply.timings),
        }
    )


def unpack_reply(body: bytes, limits: WireLimits) -> RefineReply:
    """Raises TierocrError `bad_request`, `too_large` or `incompatible_version`; nothing else."""
    message = _Fields(_unpack(body, limits), "reply")
    engine = _Fields(message.mapping("engine"), "engine")
    rows = message.sequence("results")
    if len(rows) > limits.regions:
        raise TierocrError("too_large", f"{len(rows)} results, at most {limits.regions}")
    timings = message.mapping("timings", optional=True)
    return RefineReply(
        request_id=message.text("request_id", 200),
        engine=EngineInfo(
            pack=engine.text("pack", 200),
            precision=engine.text("precision", 40),
            runtime=engine.text("runtime", 200),
        ),
        results=tuple(_refined(row, limits) for row in rows),
        timings={k: float(v) for k, v in timings.items() if isinstance(v, (int, float))},
    )


def _region(row: object, limits: WireLimits) -> RegionImage:
    fields = _Fields(row, "region")
    region_format = fields.text("format", 20)
    if region_format not in FORMATS:
        raise TierocrError("unsupported_format", f"regions are {', '.join(FORMATS)}")
    return RegionImage(
        id=fields.text("id", 200),
        image=fields.binary("image"),
        format=region_format,
        margin=fields.number("margin", optional=True),
        text=fields.text("text", limits.text_length, optional=True),
        p_error=fields.number("p_error", optional=True),
        angle=fields.number("angle", optional=True),
    )


def _result(refined: Refined) -> dict[str, object]:
    if refined.error is not None:
        return {
            "id": refined.id,
            "error": {"code": refined.error.code, "message": refined.error.message},
        }
    return {
        "id": refined.id,
        "text": refined.text,
        "chars": [[c.text, c.score_raw, c.start, c.end] for c in refined.chars],
        "score_raw": refined.score_raw,
        "confidence": refined.confidence,
        "calibrated": refined.calibrated,
        "alternatives": list(refined.alternatives),
    }


def _refined(row: object, limits: WireLimits) -> Refined:
    fields = _Fields(row, "result")
    region_id = fields.text("id", 200)
    error = fields.mapping("error", optional=True)
    if error:
        failure = _Fields(error, "error")
        code = failure.text("code", 100)
        known = code if code in ERROR_CODES else "internal"
        return Refined(
            id=region_id, error=Failure(code=known, message=failure.text("message", 2000))
        )
    alternatives = fields.sequence("alternatives", optional=True)
    return Refined(
        id=region_id,
        text=fields.text("text", limits.text_length),
        chars=tuple(_char(c) for c in fields.sequence("chars", optional=True)),
        score_raw=fields.fraction("score_raw"),
        confidence=fields.fraction("confidence"),
        calibrated=fields.flag("calibrated"),
        alternatives=tuple(a for a in alternatives if isinstance(a, str)),
    )


def _char(row: object) -> RefinedChar:
    if not isinstance(row, Sequence) or isinstance(row, (str, bytes)) or len(row) != 4:
        raise TierocrError("bad_request", "a character is [text, score, start, end]")
    fields = _Fields(
        dict(zip(("text", "score_raw", "start", "end"), row, strict=True)), "character"
    )
    return RefinedChar(
        text=fields.text("text", 16),
        score_raw=fields.fraction("score_raw"),
        start=fields.fraction("start"),
        end=fields.fraction("end"),
    )


def _pack(message: Mapping[str, object]) -> bytes:
    packed: bytes = msgpack.packb(message, use_bin_type=True)
    return packed


def _unpack(body: bytes, limits: WireLimits) -> object:
    if len(body) > limits.body_bytes:
        raise TierocrError("too_large", f"{len(body)} bytes, at most {limits.body_bytes}")
    try:
        message: object = msgpack.unpackb(
            body,
            raw=False,
            strict_map_key=True,
            max_bin_len=limits.image_bytes,
            max_str_len=4 * limits.text_length,
            max_array_len=max(limits.regions, limits.text_length),
            max_map_len=64,
            max_ext_len=0,
            ext_hook=_no_extension,
        )
    except TierocrError:
        raise
    except ValueError as error:  # every way in which msgpack refuses bytes derives from it
        why = str(error) or "nested too deeply"
        code = "too_large" if _OVER_A_LIMIT.search(why) else "bad_request"
        raise TierocrError(code, f"not a valid message: {why}") from error
    version = _Fields(message, "message").whole("v")
    if version != VERSION:
        raise TierocrError("incompatible_version", f"version {version}; this speaks {VERSION}")
    return message


def _no_extension(code: int, data: bytes) -> object:
    raise TierocrError("bad_request", f"extension type {code} is not part of the protocol")


class _Fields:
    """Typed access to the fields of an untrusted map; everything that does not fit is
    `bad_request`.
    """

    def __init__(self, value: object, what: str) -> None:
        if not isinstance(value, dict) or not all(isinstance(k, str) for k in value):
            raise TierocrError("bad_request", f"{what} is not a map with text keys")
        self._value: dict[str, Any] = value
        self._what = what

    def text(self, key: str, longest: int, *, optional: bool = False) -> str:
        value = self._get(key, "" if optional else None)
        if not isinstance(value, str) or len(value) > longest:
            raise self._wrong(key, f"a text of at most {longest} characters")
        return value

    def binary(self, key: str) -> bytes:
        value = self._get(key, None)
        if not isinstance(value, bytes):
            raise self._wrong(key, "bytes")
        return value

    def whole(self, key: str) -> int:
        value = self._get(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
            raise self._wrong(key, "a whole number")
        return value

    def number(self, key: str, *, optional: bool = False) -> float:
        value = self._get(key, 0.0 if optional else None)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < 1e9:
            raise self._wrong(key, "a number")
        return float(value)

    def fraction(self, key: str) -> float:
        value = self.number(key)
        if not 0.0 <= value <= 1.0:
            raise self._wrong(key, "a number in 0..1")
        return value

    def flag(self, key: str) -> bool:
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def mapping(self, key: str, *, optional: bool = False) -> dict[str, Any]:
        value = self._get(key, {} if optional else None)
        if not isinstance(value, dict):
            raise self._wrong(key, "a map")
        return value

    def sequence(self, key: str, *, optional: bool = False) -> Sequence[Any]:
        value = self._get(key, [] if optional else None)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def _get(self, key: str, default: object) -> object:
        value = self._value.get(key)
        return default if value is None else value

    def _wrong(self, key: str, expected: str) -> TierocrError:
        return TierocrError("bad_request", f"{self._what}.{key} is not {expected}")
