"""Drawing a read page: outlines coloured by tier and confidence, with a legend. Pixels in,
pixels out.
"""

from __future__ import annotations

import cv2
import numpy as np

from tierocr.shared.document import CLOUD, Line, Page, Pixels

SURE = (90, 160, 60)
UNSURE = (40, 140, 240)
FROM_CLOUD = (200, 90, 30)
CHANGED = (180, 40, 160)
"""Blue-green-red colours of edge lines that are sure, unsure, and of lines that the cloud read."""

UNSURE_BELOW = 0.9
LEGEND = (
    (SURE, "edge, sure"),
    (UNSURE, "edge, unsure"),
    (FROM_CLOUD, "cloud agreed"),
    (CHANGED, "cloud changed"),
)


def annotate(pixels: Pixels, page: Page) -> Pixels:
    """A copy of an upright page with each line outlined; less sure lines are filled more
    strongly.
    """
    canvas = pixels.copy()
    tint = pixels.copy()
    for line in page.lines:
        corners = np.round(np.asarray(line.region.quad)).astype(np.int32)
        cv2.fillPoly(tint, [corners], colour_of(line))
    canvas = cv2.addWeighted(tint, 0.22, canvas, 0.78, 0).astype(np.uint8)
    thickness = max(1, round(min(pixels.shape[:2]) / 700))
    for line in page.lines:
        corners = np.round(np.asarray(line.region.quad)).astype(np.int32)
        cv2.polylines(canvas, [corners], True, colour_of(line), thickness, cv2.LINE_AA)
    return np.vstack([canvas, _legend(canvas.shape[1])])


def colour_of(line: Line) -> tuple[int, int, int]:
    """Colour by tier and confidence."""
    if line.source == CLOUD:
        changed = line.alternatives and line.alternatives[-1].text != line.text
        return CHANGED if changed else FROM_CLOUD
    return SURE if line.confidence >= UNSURE_BELOW else UNSURE


def _legend(width: int) -> Pixels:
    strip = np.full((40, width, 3), 255, dtype=np.uint8)
    x = 10
    for colour, name in LEGEND:
        cv2.rectangle(strip, (x, 12), (x + 18, 28), colour, -1)
        cv2.putText(strip, name, (x + 24, 26), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (40, 40, 40), 1)
        x += 40 + 9 * len(name)
    return strip
