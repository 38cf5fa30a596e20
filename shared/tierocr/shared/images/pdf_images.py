"""What the images embedded in a PDF page ask for, found without decoding one of them.

Walks the page's objects, those inside form XObjects, and the appearances of annotations. Call it
under the PDFium lock. Soft masks, patterns and Type 3 glyphs are out of reach of PDFium's
interface, which is one reason why services decode PDF in processes with a memory limit. This module
must not render.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

_POINTS_PER_INCH = 72.0
_DEEPEST_FORM = 15
_SQUARE_WITHIN = 1.02
_COVERS_PAGE = 0.5  # images that fill less do not make the page a scan

_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ImageSurvey:
    """`most_pixels`: those of the largest image. `native_dpi`: of the scan, 0 if it is none."""

    most_pixels: int
    native_dpi: float


@dataclass(frozen=True, slots=True)
class _Image:
    pixels: int
    area: float  # square points on the page
    dpi: float


def survey_images(page: Any) -> ImageSurvey:
    """Look at all images of a loaded page.

    The native resolution is that of the largest image, where the images together fill half of the
    page: scanners also cut a page into strips.
    """
    images = [*_page_images(page), *_annotation_images(page)]
    if not images:
        return ImageSurvey(0, 0.0)
    width, height = page.get_size()
    covered = sum(image.area for image in images)
    native = max(images, key=lambda image: image.area).dpi
    return ImageSurvey(
        most_pixels=max(image.pixels for image in images),
        native_dpi=native if covered >= _COVERS_PAGE * width * height else 0.0,
    )


def _page_images(page: Any) -> Iterator[_Image]:
    count = pdfium.FPDFPage_CountObjects(page)
    yield from _images(count, partial(pdfium.FPDFPage_GetObject, page), np.eye(3), 0)


def _annotation_images(page: Any) -> Iterator[_Image]:
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            yield from _images(
                pdfium.FPDFAnnot_GetObjectCount(annotation),
                partial(pdfium.FPDFAnnot_GetObject, annotation),
                np.eye(3),
                0,
            )
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _images(count: int, get: Callable[[int], Any], outer: _Matrix, depth: int) -> Iterator[_Image]:
    for index in range(count):
        item = get(index)
        kind = pdfium.FPDFPageObj_GetType(item) if item else None
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            yield _measure(item, _matrix_of(item) @ outer)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _DEEPEST_FORM:
            yield from _images(
                pdfium.FPDFFormObj_CountObjects(item),
                partial(pdfium.FPDFFormObj_GetObject, item),
                _matrix_of(item) @ outer,
                depth + 1,
            )


def _matrix_of(item: Any) -> _Matrix:
    """The object's placement, for row vectors (x, y, 1) as PDF writes them."""
    m = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, m):
        return np.eye(3)
    return np.array([[m.a, m.b, 0], [m.c, m.d, 0], [m.e, m.f, 1]], dtype=np.float64)


def _measure(item: Any, matrix: _Matrix) -> _Image:
    width, height = ctypes.c_uint(), ctypes.c_uint()
    if not pdfium.FPDFImageObj_GetImagePixelSize(item, width, height):
        return _Image(0, 0.0, 0.0)
    pixels = max(width.value * height.value, _jpeg2000_pixels(item))
    # An image fills the unit square, which the matrix lays on the page.
    across = math.hypot(matrix[0, 0], matrix[0, 1])
    down = math.hypot(matrix[1, 0], matrix[1, 1])
    if across <= 0 or down <= 0:
        return _Image(pixels, 0.0, 0.0)
    return _Image(
        pixels=pixels,
        area=across * down,
        dpi=_POINTS_PER_INCH * _resolution(width.value, height.value, across, down),
    )


def _resolution(width: int, height: int, across: float, down: float) -> float:
    """Pixels per point along the longer side, which tells it more exactly.

    Where pixels are not square, those along the finer direction.
    """
    along_x, along_y = width / across, height / down
    if max(along_x, along_y) > _SQUARE_WITHIN * min(along_x, along_y):
        return max(along_x, along_y)
    return along_x if width > height else along_y


def _jpeg2000_pixels(item: Any) -> int:
    """Read the size that a JPEG 2000 stream gives itself, 0 for others.

    PDFium decodes all of the stream, whatever size the image's dictionary pretends.
    """
    filters = pdfium.FPDFImageObj_GetImageFilterCount(item)
    name = ctypes.create_string_buffer(32)
    if filters < 1 or not pdfium.FPDFImageObj_GetImageFilter(item, filters - 1, name, len(name)):
        return 0
    if name.value != b"JPXDecode":
        return 0
    length = pdfium.FPDFImageObj_GetImageDataDecoded(item, None, 0)
    data = ctypes.create_string_buffer(max(length, 1))
    pdfium.FPDFImageObj_GetImageDataDecoded(item, data, length)
    # Start of codestream and size marker; then length and profile, and the ends and starts of the
    # grid.
    start = data.raw.find(b"\xff\x4f\xff\x51") + 8
    if start < 8 or start + 16 > length:
        return 0
    right, bottom, left, top = (int(n) for n in struct.unpack_from(">4I", data, start))
    return max(0, right - left) * max(0, bottom - top)
