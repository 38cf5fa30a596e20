"""The eight EXIF orientations: pixels upright, degrees, and the way back to stored pixels. Pure.

Coordinates are continuous: the pixel in column i covers i..i+1 and its centre lies at i + 0.5, so
an image is mirrored by x -> width - x (not width - 1 - x). The same convention holds for every
`transform`.
"""

from __future__ import annotations

import cv2
import numpy as np

from tierocr.shared.document import Matrix3, Pixels

UPRIGHT = 1
_DEGREES = {1: 0, 2: 0, 3: 180, 4: 180, 5: 270, 6: 90, 7: 90, 8: 270}
_FROM_ROTATION = {0: 1, 90: 6, 180: 3, 270: 8}


def orientation_degrees(orientation: int) -> int:
    """Clockwise degrees that make stored pixels upright.

    The mirrored orientations 2, 4, 5 and 7 are read as EXIF names them: mirror left to right, then
    turn.
    """
    return _DEGREES[orientation]


def orientation_of_rotation(degrees: int) -> int:
    """Give the EXIF orientation that stands for a clockwise turn by 0, 90, 180 or 270 degrees."""
    return _FROM_ROTATION[degrees % 360]


def swaps_sides(orientation: int) -> bool:
    """Tell whether width and height change places."""
    return orientation >= 5


def make_upright(pixels: Pixels, orientation: int) -> Pixels:
    """Apply an orientation to stored pixels. (H, W, 3) uint8 in, contiguous and upright out."""
    if orientation == 2:
        turned = cv2.flip(pixels, 1)
    elif orientation == 3:
        turned = cv2.rotate(pixels, cv2.ROTATE_180)
    elif orientation == 4:
        turned = cv2.flip(pixels, 0)
    elif orientation == 5:
        turned = cv2.transpose(pixels)
    elif orientation == 6:
        turned = cv2.rotate(pixels, cv2.ROTATE_90_CLOCKWISE)
    elif orientation == 7:
        turned = cv2.rotate(cv2.transpose(pixels), cv2.ROTATE_180)
    elif orientation == 8:
        turned = cv2.rotate(pixels, cv2.ROTATE_90_COUNTERCLOCKWISE)
    else:
        turned = pixels
    return np.ascontiguousarray(turned, dtype=np.uint8)


def upright_to_stored(
    orientation: int, width: float, height: float, scale: tuple[float, float] = (1.0, 1.0)
) -> Matrix3:
    """Map upright coordinates to stored ones.

    `width`, `height`: the size of what is stored. `scale`: stored units per upright unit along the
    upright x and y axes, for pixels that were resampled or rendered.
    """
    sx, sy = scale
    across, down = (sx, 0.0, 0.0), (0.0, sy, 0.0)
    back_across, back_down = (-sx, 0.0, width), (0.0, -sy, height)
    # Where the sides are swapped, the stored x runs along the upright y.
    down_x, back_down_x = (0.0, sy, 0.0), (0.0, -sy, width)
    across_y, back_across_y = (sx, 0.0, 0.0), (-sx, 0.0, height)
    x_row, y_row = {
        1: (across, down),
        2: (back_across, down),
        3: (back_across, back_down),
        4: (across, back_down),
        5: (down_x, across_y),
        6: (down_x, back_across_y),
        7: (back_down_x, back_across_y),
        8: (back_down_x, across_y),
    }[orientation]
    return (x_row, y_row, (0.0, 0.0, 1.0))
