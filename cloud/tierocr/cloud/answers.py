"""Documents as a caller wants them: one of the export formats, with its media type."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from tierocr.shared.document import Document
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import FORMATS, Format, PictureFormat

Chosen = Format | PictureFormat


def format_of(request: web.Request, more: Mapping[str, PictureFormat] | None = None) -> Chosen:
    """The format that `?format=` names, JSON where it names none; `more`: those that are possible
    beside the usual ones. Raises TierocrError `bad_request`.
    """
    known: dict[str, Chosen] = {**FORMATS, **(more or {})}
    name = request.query.get("format", "json")
    if name not in known:
        raise TierocrError("bad_request", f"format is one of {', '.join(known)}")
    return known[name]


def written(chosen: Format, document: Document) -> bytes:
    """The document in that format. May take long, so for a thread."""
    # a file name that is no text has lone surrogates: escaped, as JSON would
    return chosen.export(document).encode(errors="backslashreplace")


def answer_in(chosen: Chosen, content: bytes) -> web.Response:
    """The answer that brings it."""
    charset = "utf-8" if isinstance(chosen, Format) else None
    return web.Response(body=content, content_type=chosen.media_type, charset=charset)
