"""Plain text: one row per printed row, a blank line between pages."""

from __future__ import annotations

from tierocr.shared.document import Document, Page
from tierocr.shared.export.rows import rows_of


def to_text(document: Document) -> str:
    """The text in reading order; lines that stand side by side are separated by a tab."""
    pages = [_page(page) for page in document.pages if page.error is None]
    return "\n".join(pages) if len(pages) < 2 else "\f".join(pages)


def _page(page: Page) -> str:
    return "".join("\t".join(line.text for line in row) + "\n" for row in rows_of(page.lines))
