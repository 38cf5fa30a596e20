"""PDF files -> rendered pages, one at a time.

PDFium must not be entered by two threads at once, so every call stands under one lock of this
module; it is released while the consumer works on a page. This module must not know about rasters.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from tierocr.shared.document import Matrix3, PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images.limits import Limits, PageFailure, page_failure
from tierocr.shared.images.orientation import (
    orientation_of_rotation,
    swaps_sides,
    upright_to_stored,
)
from tierocr.shared.images.pdf_images import survey_images
from tierocr.shared.images.pdf_text import read_text_layer

_POINTS_PER_INCH = 72.0
_LOWEST_DPI = 36.0
_HIGHEST_NATIVE_DPI = 300.0
_LOCKED = (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)

# Reentrant: an abandoned iterator may be collected, and so closed, in the middle of another call.
_PDFIUM = threading.RLock()


def decode_pdf(
    data: bytes, limits: Limits, text_layer: bool, first: int = 0
) -> Iterator[PageImage | PageFailure]:
    """Render the pages of a PDF one by one, beginning with the page of index `first`.

    Raises TierocrError `bad_image`, `encrypted`, or `too_large` past the page limit.
    """
    with _document(data, limits) as document:
        for index in range(first, _page_count(document)):
            # No name holds the page, or it would live on while the next one is rendered.
            yield _page_or_failure(document, index, limits, text_layer)


def count_pdf_pages(data: bytes, limits: Limits) -> int:
    """Count the pages of a PDF. Raises like `decode_pdf`."""
    with _document(data, limits) as document:
        return _page_count(document)


@contextmanager
def _document(data: bytes, limits: Limits) -> Iterator[Any]:
    with _PDFIUM, _pdfium_errors():
        document = pypdfium2.PdfDocument(data)
    try:
        with _PDFIUM, _pdfium_errors():
            count = len(document)
            if count < 1:
                raise TierocrError("bad_image", "the PDF has no pages")
            limits.check_pages(count)
            document.init_forms()
        yield document
    finally:
        with _PDFIUM:
            document.close()


@contextmanager
def _pdfium_errors() -> Iterator[None]:
    try:
        yield
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in _LOCKED:
            raise TierocrError("encrypted", "the PDF needs a password") from error
        raise TierocrError("bad_image", f"the PDF cannot be read: {error}") from error
    except MemoryError as error:
        raise TierocrError("too_large", "the PDF does not fit into memory") from error


def _page_count(document: Any) -> int:
    with _PDFIUM:
        return len(document)


def _page_or_failure(
    document: Any, index: int, limits: Limits, text_layer: bool
) -> PageImage | PageFailure:
    try:
        with _PDFIUM, _pdfium_errors():
            page = document[index]
            try:
                return _render_page(page, index, limits, text_layer)
            finally:
                page.close()
    except TierocrError as error:
        return page_failure(index, error)


def _render_page(page: Any, index: int, limits: Limits, text_layer: bool) -> PageImage:
    images = survey_images(page)
    if images.most_pixels > limits.max_pixels:
        raise TierocrError(
            "too_large", f"an image of {images.most_pixels} pixels, over {limits.max_pixels}"
        )
    width, height = page.get_size()
    if not (width > 0 and height > 0):
        raise TierocrError("bad_image", "the page has no size")
    wanted = max(limits.pdf_dpi, min(images.native_dpi, _HIGHEST_NATIVE_DPI))
    dpi = min(wanted, _highest_dpi(width, height, limits))
    if dpi < min(wanted, _LOWEST_DPI):
        raise TierocrError("too_large", f"a page of {width:.0f} x {height:.0f} points")
    warnings: tuple[str, ...] = ()
    if dpi < wanted:
        warnings = (f"rendered at {dpi:.0f} dpi to stay within the pixel limit",)
    # A hair less, or rounding up makes 3301 rows of a scan's 3300 and blurs them all.
    pixels = _render(page, dpi / _POINTS_PER_INCH * (1 - 1e-6))
    limits.check_size(pixels.shape[1], pixels.shape[0])
    rotation = page.get_rotation()
    transform = _pixels_to_points(rotation, width, height, pixels)
    return PageImage(
        pixels=pixels,
        index=index,
        dpi=round(dpi, 2),
        orientation=rotation,
        transform=transform,
        warnings=warnings,
        text_layer=read_text_layer(page, transform, (pixels.shape[0], pixels.shape[1]))
        if text_layer
        else (),
    )


def _highest_dpi(width: float, height: float, limits: Limits) -> float:
    """Find the resolution at which a page of this size in points just fits the limits."""
    # Sides are rounded up to whole pixels, so what must fit is (width * s + 1) * (height * s + 1).
    half, area = (width + height) / 2, width * height
    by_pixels = (math.sqrt(half * half + area * (limits.max_pixels - 1)) - half) / area
    by_side = (limits.max_side - 1) / max(width, height)
    return _POINTS_PER_INCH * min(by_pixels, by_side)


def _render(page: Any, scale: float) -> Pixels:
    """Render with annotations and form fields. (H, W, 3) uint8 BGR on white."""
    bitmap = page.render(
        scale=scale,
        may_draw_forms=True,
        draw_annots=True,
        force_bitmap_format=pdfium.FPDFBitmap_BGR,
        bitmap_maker=pypdfium2.PdfBitmap.new_native,
    )
    try:
        # The buffer is ours and packed; it outlives the bitmap, so nothing is copied.
        return np.ascontiguousarray(bitmap.to_numpy(), dtype=np.uint8)
    finally:
        bitmap.close()


def _pixels_to_points(rotation: int, width: float, height: float, pixels: Pixels) -> Matrix3:
    """Map upright pixels to the unrotated crop box. `width`, `height`: rotated, in points."""
    orientation = orientation_of_rotation(rotation)
    stored = (height, width) if swaps_sides(orientation) else (width, height)
    scale = (width / pixels.shape[1], height / pixels.shape[0])
    return upright_to_stored(orientation, *stored, scale=scale)
