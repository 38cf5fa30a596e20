"""What leaves the device: a line cut from the full-resolution page, never enlarged, encoded.

Pure functions of arrays (encoding included); must not know who receives the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2

from tierocr.shared.cropping import cut, shrink_to_height
from tierocr.shared.document import Line, Pixels, Quad
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import grow, quad_size

FORMAT = "webp"
QUALITY = 80
MAX_HEIGHT = 96
"""Twice the recogniser's input height: more pixels carry nothing that it would see."""

MAX_WIDTH = 16_383
"""WebP can hold no more; a longer line is shrunk further."""

MARGIN = 0.1
"""Page content kept around the line on every side, in line heights."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crop:
    """`quad`: what was cut, in page pixels. `image`: its encoded bytes. `margin`: pixels of the
    crop. `text`: what may be told of the line's text; None: all of it.
    """

    quad: Quad
    image: bytes
    margin: float
    text: str | None = None


def encode_line(pixels: Pixels, line: Line) -> Crop:
    """Cut a line with its margin and encode it. Raises TierocrError `internal` if encoding
    fails.
    """
    height = quad_size(line.region.quad)[1]
    margin = MARGIN * height
    quad = grow(line.region.quad, margin, margin)
    cropped = cut(pixels, quad)
    fitting = max(1, cropped.shape[0] * MAX_WIDTH // cropped.shape[1])
    sent = shrink_to_height(cropped, min(MAX_HEIGHT, fitting))
    ok, encoded = cv2.imencode(f".{FORMAT}", sent, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    if not ok:
        raise TierocrError("internal", "a crop could not be encoded")
    return Crop(
        quad=quad, image=encoded.tobytes(), margin=margin * sent.shape[0] / cropped.shape[0]
    )
