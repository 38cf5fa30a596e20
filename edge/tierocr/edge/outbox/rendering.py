"""A stored document as a value: head and pages as trees, put together for a version. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tierocr.edge.outbox.states import FAILED as FAILED_STATE
from tierocr.edge.outbox.states import Entry
from tierocr.shared.document import FAILED, FINAL, PROVISIONAL, Document, Failure, Page
from tierocr.shared.errors import ERROR_CODES
from tierocr.shared.export.json import page_tree, to_tree
from tierocr.shared.export.parse import from_tree, page_from_tree

Tree = dict[str, Any]


def head_of(document: Document) -> Tree:
    """All of a document but its pages."""
    return to_tree(replace(document, pages=()))


def tree_of(page: Page) -> Tree:
    """A page as it is stored."""
    return page_tree(page)


def page_of(tree: Tree) -> Page:
    """A page as it was stored."""
    return page_from_tree(tree)


def document_of(entry: Entry, head: Tree, pages: list[Tree]) -> Document:
    """The document as it is now: its version, whether that is the last one, and why not all of it
    was read again.
    """
    document = from_tree({**head, "pages": pages})
    status = FAILED if entry.state == FAILED_STATE else FINAL if entry.final else PROVISIONAL
    return replace(
        document,
        version=max(entry.version, 1),
        status=status,
        errors=(*document.errors, *_failures(entry.reason)),
    )


def _failures(reason: str | None) -> list[Failure]:
    if reason is None:
        return []
    code, _, message = reason.partition(": ")
    return [Failure(code=code if code in ERROR_CODES else "internal", message=message)]
