"""Sample pages that come with the package, each with the text that stands on it.

For demos, self-tests and first impressions. The files are made by the model forge and read here as
package data; nothing is drawn and no font is needed. All content is invented.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tierocr.shared.document import Quad

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

_KINDS = (".jpg", ".pdf", ".png")


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthLine:
    """A line as printed. `quad`: TL TR BR BL in reading direction, pixels of the stored image."""

    text: str
    quad: Quad


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthPage:
    """A page of a sample; the size of a PDF page is that of its rendering at 200 dpi."""

    width: int
    height: int
    lines: tuple[TruthLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What stands on a sample: `image` is its file name."""

    image: str
    pages: tuple[TruthPage, ...]


def sample_pages() -> list[Traversable]:
    """The sample images and PDFs, by name. `importlib.resources.as_file` makes a path of one."""
    found = (item for item in files(__name__).iterdir() if item.name.endswith(_KINDS))
    return sorted(found, key=lambda item: item.name)


def load_truth(name: str) -> Truth:
    """The truth of the sample file `name`, such as "invoice_zh.png"."""
    data = json.loads((files(__name__) / f"{name}.truth.json").read_text(encoding="utf-8"))
    return Truth(image=data["image"], pages=tuple(_page(page) for page in data["pages"]))


def _page(data: dict[str, Any]) -> TruthPage:
    lines = []
    for row in data["lines"]:
        tl, tr, br, bl = ((float(x), float(y)) for x, y in row["polygon"])
        lines.append(TruthLine(text=row["text"], quad=(tl, tr, br, bl)))
    return TruthPage(width=data["width"], height=data["height"], lines=tuple(lines))
