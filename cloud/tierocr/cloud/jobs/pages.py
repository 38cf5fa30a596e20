"""A page as it stands in the store, so that any export format can be made of it later."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from tierocr.shared.document import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as read, and the seconds per stage."""

    page: Page
    seconds: dict[str, float]


_PAGES = TypeAdapter(StoredPage)


def pack_page(page: StoredPage) -> bytes:
    """The page as JSON; nothing of it is lost."""
    return _PAGES.dump_json(page)


def unpack_page(content: bytes) -> StoredPage:
    """The page. Raises ValueError for what is none."""
    return _PAGES.validate_json(content)
