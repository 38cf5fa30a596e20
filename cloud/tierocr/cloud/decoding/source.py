"""Where pages come from: the door of this package, and the way without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from tierocr.shared.document import PageImage
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

Check = Callable[[], None]
"""Called while somebody waits; raises when the work is no longer wanted."""


class OpenFile(Protocol):
    """An iterator over the pages of one file, lazy, to be closed. `count`: how many pages the file
    has, None where that cannot be told.

    Raises TierocrError at the first page when the file as a whole cannot be decoded.
    """

    count: int | None

    def __iter__(self) -> Iterator[PageImage | PageFailure]:
        """Itself."""
        ...

    def __next__(self) -> PageImage | PageFailure:
        """The next page; blocks until it is decoded."""
        ...

    def close(self) -> None:
        """Let go of whatever decodes."""
        ...


class PageSource(Protocol):
    """Opens files. Thread-safe."""

    def open(self, data: bytes, limits: Limits, *, first: int, check: Check) -> OpenFile:
        """A file whose pages from the index `first` on are wanted. Raises TierocrError."""
        ...

    def close(self) -> None:
        """End; files that are open fail."""
        ...


class InThreads:
    """Decodes in the thread that asks: for systems without what processes need."""

    def open(self, data: bytes, limits: Limits, *, first: int, check: Check) -> OpenFile:
        """See `PageSource.open`."""
        return _Direct(data, limits, first)

    def close(self) -> None:
        """Nothing to end."""


class _Direct:
    def __init__(self, data: bytes, limits: Limits, first: int) -> None:
        self.count = page_count(data, limits)
        self._pages: Iterator[PageImage | PageFailure] = decode_pages(
            data, limits=limits, first=first
        )

    def __iter__(self) -> Iterator[PageImage | PageFailure]:
        return self

    def __next__(self) -> PageImage | PageFailure:
        return next(self._pages)

    def close(self) -> None:
        if (close := getattr(self._pages, "close", None)) is not None:
            close()
