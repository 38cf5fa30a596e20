"""Decoded pages in the position in which they were read; shared by the exporters that show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tierocr.shared.document import Page, PageImage, Pixels


def upright(image: PageImage, page: Page) -> Pixels:
    """The decoded pixels turned as the reader turned the page."""
    turns = (page.orientation - image.orientation) // 90 % 4
    return np.ascontiguousarray(np.rot90(image.pixels, -turns)) if turns else image.pixels


def paired(
    pages: Sequence[Page], images: Iterable[PageImage]
) -> Iterator[tuple[Page, PageImage | None]]:
    """Every page with its picture, if it has one; both in the order of the pages."""
    waiting = iter(images)
    image = next(waiting, None)
    for page in pages:
        while image is not None and image.index < page.index:
            image = next(waiting, None)
        yield page, image if image is not None and image.index == page.index else None
