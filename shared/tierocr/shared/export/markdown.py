"""Markdown: paragraphs and rows of the page as text that renders as it reads; no guessed
structure.
"""

from __future__ import annotations

import re

from tierocr.shared.document import Document, Line, Page
from tierocr.shared.export.rows import rows_of
from tierocr.shared.geometry import bounds

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLOCK_LIKE = re.compile(r"^(\s*\d*)([-+.)](?=\s|$)|[-=](?=[-=\s]*$))")  # lists, rules, headings

PARAGRAPH_GAP = 0.8
"""White space between two rows, in row heights, from which on a new paragraph begins."""


def to_markdown(document: Document) -> str:
    """The pages one after the other, with a rule between them; characters of Markdown are
    escaped.
    """
    pages = [_page(page) for page in document.pages if page.error is None]
    return "\n---\n\n".join(page for page in pages)


def _page(page: Page) -> str:
    paragraphs: list[list[str]] = []
    last: list[Line] | None = None
    for row in rows_of(page.lines):
        if last is None or _new_paragraph(last, row):
            paragraphs.append([])
        paragraphs[-1].append(_escape("    ".join(line.text for line in row)))
        last = row
    return "".join("  \n".join(rows) + "\n\n" for rows in paragraphs)


def _new_paragraph(above: list[Line], below: list[Line]) -> bool:
    top = max(bounds(line.region.quad)[3] for line in above)
    bottom = min(bounds(line.region.quad)[1] for line in below)
    _, y0, _, y1 = bounds(below[0].region.quad)
    return bottom - top > PARAGRAPH_GAP * (y1 - y0) or bottom < top - 2 * (y1 - y0)


def _escape(text: str) -> str:
    return _BLOCK_LIKE.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text))
