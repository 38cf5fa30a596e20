"""Raster files -> upright pages: one picture per file, or every page of a TIFF.

A picture's own troubles are its file's, so they raise; of a TIFF's pages each fails alone. This
module must not know about PDF.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from PIL import ImageFile

from tierocr.shared.document import PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.images.colour import bgr_of_bgra, bgr_of_image
from tierocr.shared.images.density import believable, make_square
from tierocr.shared.images.headers import jpeg_is_whole, read_png, read_tiff_chain, read_webp
from tierocr.shared.images.limits import Limits, PageFailure, page_failure
from tierocr.shared.images.orientation import (
    UPRIGHT,
    make_upright,
    orientation_degrees,
    swaps_sides,
    upright_to_stored,
)
from tierocr.shared.images.pillow_files import (
    exif_orientation,
    load_pixels,
    open_image,
    pillow_call,
)

TRUNCATED = "truncated"
_JPEG_END = b"\xff\xd9"
_FAST_MODES = ("L", "RGB")
_TAG_PHOTOMETRIC, _TAG_ORIENTATION = 262, 274
_TAG_X_RESOLUTION, _TAG_Y_RESOLUTION, _TAG_RESOLUTION_UNIT = 282, 283, 296
_PER_INCH = {2: 1.0, 3: 2.54}


def decode_picture(data: bytes, kind: str, limits: Limits) -> PageImage:
    """Decode a file that holds one picture (of a GIF its first frame).

    Raises TierocrError `bad_image`, `too_large` or `unsupported_format`.
    """
    if kind == "webp":
        return _decode_webp(data, limits)
    whole, exif, fast = True, b"", False
    if kind == "jpeg":
        whole = fast = jpeg_is_whole(data)
        # With an end marker added, the decoder gives what there is instead of waiting for more.
        data = data if whole else data + _JPEG_END
    elif kind == "png":
        fast, exif = read_png(data)
    image = open_image(data, kind)
    limits.check_size(*image.size)
    if kind == "jpeg":
        exif = image.info.get("exif", b"")
    orientation = exif_orientation(exif)
    pixels = None
    if fast and image.mode in _FAST_MODES and "transparency" not in image.info:
        pixels = _fast_pixels(data)
    if pixels is None:
        whole = load_pixels(image, kind) and whole
        pixels = bgr_of_image(image)
    return _finish_page(
        make_upright(pixels, orientation),
        orientation=orientation,
        density=believable(image.info.get("dpi")),
        limits=limits,
        whole=whole,
    )


def decode_tiff(data: bytes, limits: Limits, first: int = 0) -> Iterator[PageImage | PageFailure]:
    """Decode the pages of a TIFF one by one, beginning with the page of index `first`.

    Raises TierocrError `bad_image` when the first header is damaged, `too_large` past the page
    limit.
    """
    chain = read_tiff_chain(data, limits.max_pages)
    image = open_image(data, "tiff")
    if not chain.frames:
        raise TierocrError("bad_image", "the TIFF file has no page")
    for index, frame in enumerate(chain.frames[first:], first):
        yield _tiff_page(image, index, frame, limits)
    if chain.broken and first <= len(chain.frames):
        error = TierocrError("bad_image", "the list of pages is damaged; there may have been more")
        yield page_failure(len(chain.frames), error)


def _tiff_page(
    image: ImageFile.ImageFile, index: int, frame: int, limits: Limits
) -> PageImage | PageFailure:
    try:
        with pillow_call("tiff"):
            image.seek(frame)
            tags = _tiff_tags(image)
        limits.check_size(*image.size)
        whole = load_pixels(image, "tiff")
        if not whole and index > 0:
            # Pillow reuses its buffer: the missing rows would show the page before.
            raise TierocrError("bad_image", "the page's data is damaged")
        return _finish_page(
            bgr_of_image(image, inverted=tags.inverted),
            orientation=tags.orientation,
            density=tags.density,
            limits=limits,
            index=index,
            whole=whole,
        )
    except TierocrError as error:
        return page_failure(index, error)


@dataclass(frozen=True, slots=True)
class _TiffTags:
    orientation: int
    density: tuple[float, float] | None
    inverted: bool


def _tiff_tags(image: Any) -> _TiffTags:
    """Read the page's own tags, before loading removes some (`info` may hold another page's)."""
    tags = image.tag_v2
    per_inch = _PER_INCH.get(tags.get(_TAG_RESOLUTION_UNIT, 2))
    x, y = tags.get(_TAG_X_RESOLUTION), tags.get(_TAG_Y_RESOLUTION)
    density = believable((x, y), per_inch) if per_inch else None
    orientation = tags.get(_TAG_ORIENTATION)
    return _TiffTags(
        orientation=orientation if orientation in range(1, 9) else UPRIGHT,
        density=density,
        inverted=tags.get(_TAG_PHOTOMETRIC) == 0,
    )


def _decode_webp(data: bytes, limits: Limits) -> PageImage:
    blocks = read_webp(data)
    limits.check_size(blocks.width, blocks.height)
    if not blocks.whole:
        raise TierocrError("bad_image", "the WebP file is cut short")
    pixels = _fast_pixels(data)
    if pixels is None:
        image = open_image(data, "webp")
        if not load_pixels(image, "webp"):
            raise TierocrError("bad_image", "the WebP data is damaged")
        pixels = bgr_of_image(image)
    orientation = exif_orientation(blocks.exif)
    return _finish_page(
        make_upright(pixels, orientation), orientation=orientation, density=None, limits=limits
    )


def _fast_pixels(data: bytes) -> Pixels | None:
    """Decode with OpenCV: (H, W, 3) uint8 BGR as stored, or None where that does not work."""
    try:
        stored = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except (cv2.error, MemoryError):
        return None
    if stored is None or stored.dtype != np.uint8:
        return None
    if stored.ndim == 2:
        return np.asarray(cv2.cvtColor(stored, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
    if stored.shape[2] == 4:
        return bgr_of_bgra(np.asarray(stored, dtype=np.uint8))
    return np.asarray(stored, dtype=np.uint8) if stored.shape[2] == 3 else None


def _finish_page(
    upright: Pixels,
    *,
    orientation: int,
    density: tuple[float, float] | None,
    limits: Limits,
    index: int = 0,
    whole: bool = True,
) -> PageImage:
    """Make the page of upright pixels.

    `density`: dots per inch along the stored axes. `whole`: False when pixels are known to be
    missing.
    """
    warnings: tuple[str, ...] = ()
    if not whole:
        if upright.min() == upright.max():
            raise TierocrError("bad_image", "the file ends before its first pixels")
        warnings = (TRUNCATED,)
    height, width = upright.shape[:2]
    pixels, dpi = upright, None
    if density is not None:
        turned = density[::-1] if swaps_sides(orientation) else density
        pixels, dpi, resampled = make_square(upright, turned, limits)
        warnings += resampled
    stored = (height, width) if swaps_sides(orientation) else (width, height)
    return PageImage(
        pixels=pixels,
        index=index,
        dpi=dpi,
        orientation=orientation_degrees(orientation),
        transform=upright_to_stored(
            orientation, *stored, scale=(width / pixels.shape[1], height / pixels.shape[0])
        ),
        warnings=warnings,
    )
