"""Small documents for the exporters: lines at given places, pages around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierocr.shared.document import Document, EngineInfo, Line, Page, Region
from tierocr.shared.geometry import rectangle

ENGINE = EngineInfo(pack="fake", precision="f32", runtime="fake 1.0 CPU")


def line_at(text: str, x: float, y: float, width: float = 100.0, **more: Any) -> Line:
    """A line 20 pixels high whose top left corner is (x, y)."""
    region = Region(quad=rectangle(x, y, x + width, y + 20), score=0.9)
    return Line(region=region, text=text, score_raw=0.8, confidence=0.8, **more)


def page_with(lines: Sequence[Line], index: int = 0) -> Page:
    """A page of these lines."""
    return Page(index=index, width=1000, height=1400, lines=tuple(lines))


def document_with(*pages: Page, **more: Any) -> Document:
    """A document of these pages."""
    values: dict[str, Any] = {
        "id": "sha256-0",
        "name": "a.png",
        "sha256": "0" * 64,
        "status": "final",
        "engine": ENGINE,
        **more,
    }
    return Document(pages=pages, **values)
