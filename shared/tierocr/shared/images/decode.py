"""The door of this package: bytes of a file -> its pages.

Decides which decoder reads the bytes, and that file-level limits come first. This module must not
know about formats beyond their names.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierocr.shared.document import PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images.headers import read_tiff_chain
from tierocr.shared.images.limits import Limits, PageFailure
from tierocr.shared.images.pdf import count_pdf_pages, decode_pdf
from tierocr.shared.images.raster import decode_picture, decode_tiff
from tierocr.shared.images.sniff import sniff


def decode_pages(
    data: bytes, *, limits: Limits, text_layer: bool = False, first: int = 0
) -> Iterator[PageImage | PageFailure]:
    """Decode a file page by page; nothing is decoded before its page is asked for.

    In a PDF or TIFF a page that is bad or too large comes as a PageFailure and the others go on; a
    file of one picture raises instead. `text_layer`: fill in the text that a PDF page carries.
    `first`: the index of the page to begin with; those before it are not decoded. An iterator that
    is not read to its end should be closed.

    Raises TierocrError, here or at the first page: `bad_image`, `unsupported_format`, `encrypted`,
    `too_large` (bytes, pages, or the pixels of a picture).
    """
    limits.check_bytes(len(data))
    kind = sniff(data)
    if kind == "pdf":
        return decode_pdf(data, limits, text_layer, first)
    if kind == "tiff":
        return decode_tiff(data, limits, first)
    return _one_picture(data, kind, limits) if first == 0 else iter(())


def page_count(data: bytes, limits: Limits) -> int | None:
    """Count the pages without decoding them, for progress; None when that cannot be told."""
    try:
        limits.check_bytes(len(data))
        kind = sniff(data)
        if kind == "pdf":
            return count_pdf_pages(data, limits)
        if kind == "tiff":
            return len(read_tiff_chain(data, limits.max_pages).frames) or None
    except TierocrError:
        return None
    return 1


def _one_picture(data: bytes, kind: str, limits: Limits) -> Iterator[PageImage]:
    yield decode_picture(data, kind, limits)
