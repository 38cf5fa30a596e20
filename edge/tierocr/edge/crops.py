"""What leaves the device: a line cut from the full-resolution page, or the page itself, never
enlarged, encoded.

Pure functions of arrays (encoding included); must not know who receives the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cv2
import numpy as np

from tierocr.shared.cropping import cut, shrink_to_height
from tierocr.shared.document import Line, Pixels, Quad
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import grow, quad_size

FORMAT = "webp"
QUALITY = 80
MAX_HEIGHT = 96
"""Twice the recogniser's input height: more pixels carry nothing that it would see."""

MAX_WIDTH = 16_383
"""WebP can hold no more; a longer line is shrunk further."""

LOSSLESS = 101
"""What OpenCV takes for a quality of WebP that changes no pixel."""

FILL = 255
"""What is painted over what must not be seen: the colour of paper."""

PAGE_SIDE = 3_000
"""A whole page that leaves is made smaller until no side is longer."""

MARGIN = 0.1
"""Page content kept around the line on every side, in line heights."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crop:
    """`quad`: what was cut, in page pixels. `image`: its encoded bytes. `margin`: pixels of the
    crop.
    """

    quad: Quad
    image: bytes
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageCrop:
    """A whole page: its encoded bytes, `width` and `height` of the picture in them, and which of
    its lines were painted over.
    """

    image: bytes
    width: int
    height: int
    stay: frozenset[int] = frozenset()


def encode_line(pixels: Pixels, line: Line, cover: Pixels | None = None) -> Crop:
    """Cut a line with its margin and encode it. `cover`: (H, W) uint8 like the page, not 0 where
    it must not be seen. Raises TierocrError `internal` if encoding fails.
    """
    height = quad_size(line.region.quad)[1]
    margin = MARGIN * height
    quad = grow(line.region.quad, margin, margin)
    cropped = cut(pixels, quad)
    fitting = max(1, cropped.shape[0] * MAX_WIDTH // cropped.shape[1])
    sent = shrink_to_height(cropped, min(MAX_HEIGHT, fitting))
    hidden = None
    if cover is not None:
        hidden = shrink_to_height(cut(cover, quad), min(MAX_HEIGHT, fitting))
    return Crop(
        quad=quad,
        image=_encoded(sent, hidden),
        margin=margin * sent.shape[0] / cropped.shape[0],
    )


def encode_lines(
    pixels: Pixels, lines: Sequence[Line], chosen: Sequence[int], cover: Pixels | None = None
) -> dict[int, Crop]:
    """The chosen lines as by `encode_line`, by index; side by side, for a page waits for them."""

    def encoded(index: int) -> Crop:
        return encode_line(pixels, lines[index], cover)

    if len(chosen) < 2:
        return {i: encoded(i) for i in chosen}
    with ThreadPoolExecutor(cpu_quota(), thread_name_prefix="tierocr-crops") as threads:
        return dict(zip(chosen, threads.map(encoded, chosen), strict=True))


def encode_page(pixels: Pixels, cover: Pixels, stay: frozenset[int] = frozenset()) -> PageCrop:
    """A whole page, made smaller if need be; `cover` as with `encode_line`, `stay`: see
    `PageCrop`. Raises TierocrError `internal` if encoding fails.
    """
    height, longest = pixels.shape[0], max(pixels.shape[:2])
    fitting = max(1, height * PAGE_SIDE // longest) if longest > PAGE_SIDE else height
    sent = shrink_to_height(pixels, fitting)
    image = _encoded(sent, shrink_to_height(cover, fitting))
    return PageCrop(image=image, width=sent.shape[1], height=sent.shape[0], stay=stay)


def _encoded(picture: Pixels, hidden: Pixels | None) -> bytes:
    """`hidden`: not 0 wherever a pixel has anything of what must not be seen. Painting over it
    must survive the encoding, which is why nothing may be lost then.
    """
    quality = QUALITY
    if hidden is not None and hidden.any():
        picture = picture.copy()
        picture[cv2.dilate(hidden, np.ones((3, 3), dtype=np.uint8)) > 0] = FILL
        quality = LOSSLESS
    ok, encoded = cv2.imencode(f".{FORMAT}", picture, [cv2.IMWRITE_WEBP_QUALITY, quality])
    if not ok:
        raise TierocrError("internal", "a crop could not be encoded")
    return encoded.tobytes()
