"""How much an input may ask for, and what a page that could not be decoded looks like.

Limits are checked on headers, before pixels exist. This module must not know about formats.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one input.

    `max_pixels` and `max_side` (pixels) hold for each page, stored as well as decoded. `pdf_dpi`:
    the resolution at which a PDF page is rendered unless its images call for more.
    """

    max_bytes: int = 200 * MIB
    max_pixels: int = 120_000_000
    max_side: int = 65_500
    max_pages: int = 1000
    pdf_dpi: float = 200.0

    def check_bytes(self, size: int) -> None:
        """Raise TierocrError `too_large` when a file has more bytes than allowed."""
        if size > self.max_bytes:
            raise TierocrError("too_large", f"the file has {size} bytes, over {self.max_bytes}")

    def check_pages(self, count: int) -> None:
        """Raise TierocrError `too_large` when a file has more pages than allowed."""
        if count > self.max_pages:
            raise TierocrError("too_large", f"the file has over {self.max_pages} pages")

    def check_size(self, width: int, height: int) -> None:
        """Raise TierocrError for a size in pixels: `too_large`, or `bad_image` when it is empty."""
        if width < 1 or height < 1:
            raise TierocrError("bad_image", f"the image has no pixels ({width} x {height})")
        if not self.allow_size(width, height):
            raise TierocrError(
                "too_large",
                f"{width} x {height} pixels, over {self.max_pixels} or {self.max_side} a side",
            )

    def allow_size(self, width: int, height: int) -> bool:
        """Tell whether a page of this size in pixels stays within the limits."""
        return width * height <= self.max_pixels and max(width, height) <= self.max_side


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFailure:
    """Takes the place of a page that could not be decoded. `index` counts from 0 in its file."""

    index: int
    failure: Failure


def page_failure(index: int, error: TierocrError) -> PageFailure:
    """Turn an error of one page into the value that takes its place."""
    return PageFailure(index=index, failure=Failure(code=error.code, message=error.message))
