"""Exporters: one file per format, each a pure function from a `Document` to text.

`FORMATS` is the one list of them; the command line, the service and the sinks all look here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tierocr.shared.document import Document
from tierocr.shared.export.json import to_json
from tierocr.shared.export.markdown import to_markdown
from tierocr.shared.export.text import to_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a format is called, what ending and media type its files have, and what writes it."""

    name: str
    ending: str
    media_type: str
    export: Callable[[Document], str]


FORMATS = {
    f.name: f
    for f in (
        Format(name="json", ending=".json", media_type="application/json", export=to_json),
        Format(name="text", ending=".txt", media_type="text/plain", export=to_text),
        Format(name="markdown", ending=".md", media_type="text/markdown", export=to_markdown),
    )
}
