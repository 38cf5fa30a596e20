"""Exporters: one file per format, each a pure function from a `Document` to text, or from it and
the pictures of its pages to bytes.

`FORMATS` and `PICTURE_FORMATS` are the one list of them; the command line, the service and the
sinks all look here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tierocr.shared.document import Document, PageImage
from tierocr.shared.export.alto import to_alto
from tierocr.shared.export.hocr import to_hocr
from tierocr.shared.export.json import to_json
from tierocr.shared.export.markdown import to_markdown
from tierocr.shared.export.pdf import to_pdf
from tierocr.shared.export.text import to_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a format is called, what ending and media type its files have, and what writes it."""

    name: str
    ending: str
    media_type: str
    export: Callable[[Document], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFormat:
    """A format that needs the pages' pixels too. `export` takes them as they were decoded, in the
    order of the pages, and holds one at a time; a page without one is left out.
    """

    name: str
    ending: str
    media_type: str
    export: Callable[[Document, Iterable[PageImage]], bytes]


FORMATS = {
    f.name: f
    for f in (
        Format(name="json", ending=".json", media_type="application/json", export=to_json),
        Format(name="text", ending=".txt", media_type="text/plain", export=to_text),
        Format(name="markdown", ending=".md", media_type="text/markdown", export=to_markdown),
        Format(name="hocr", ending=".hocr", media_type="text/html", export=to_hocr),
        Format(name="alto", ending=".alto.xml", media_type="application/xml", export=to_alto),
    )
}

PICTURE_FORMATS = {
    f.name: f
    for f in (
        PictureFormat(name="pdf", ending=".pdf", media_type="application/pdf", export=to_pdf),
    )
}

ALL_NAMES = (*FORMATS, *PICTURE_FORMATS)
