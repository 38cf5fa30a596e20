"""One detection network on one engine: a page's pixels -> the regions that hold text.

Decides at which scale a page is looked at. A page is never silently shrunk: where its text comes
out small it is looked at again, larger, in overlapping tiles, and the scale that was used is part
of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from tierocr.shared.detection import (
    DetectorFacts,
    Tile,
    clip,
    median_height,
    merge_seams,
    plan_tiles,
    regions_of,
    to_batch,
    to_page,
)
from tierocr.shared.document import Pixels, Region
from tierocr.shared.engines import Engine

SMALL_TEXT = 10.0
"""Median text height in input pixels under which a page is looked at again at a larger scale."""

COMFORTABLE_TEXT = 16.0
"""The text height that the second look aims at."""

LARGEST_SCALE = 2.0
"""Enlarging a page further than this adds no information for the detector."""

MAX_TILES = 64
"""A bound on the work of the second look."""

STRIP_ASPECT = 4
"""A page longer than this many times its width is scaled by its width and cut into tiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Regions in page pixels, the finest scale used (input pixels per page pixel), warnings for
    people.
    """

    regions: list[Region]
    scale: float
    warnings: tuple[str, ...] = ()


class Detector:
    """Finds text regions. May be used from several threads: its engine takes one at a time."""

    def __init__(self, engine: Engine, facts: DetectorFacts) -> None:
        """Wire an engine to the facts of its pack."""
        self.engine = engine
        self.facts = facts
        self._turn = Lock()

    def find(self, pixels: Pixels) -> Found:
        """(H, W, 3) uint8 BGR -> its text regions. Raises TierocrError when the engine fails."""
        height, width = pixels.shape[:2]
        longest = min(max(width, height), STRIP_ASPECT * min(width, height))
        scale = min(1.0, self.facts.side / longest)
        regions = self._look(pixels, scale)
        finer = self._finer_scale(pixels, scale, regions)
        if finer > scale:
            again = self._look(pixels, finer)
            if len(again) >= len(regions) // 2:
                regions, scale = again, finer
        text = median_height(regions) * scale
        small = bool(regions) and text < SMALL_TEXT
        note = f"small text: median height {text:.1f} px at scale {scale:.2f}"
        return Found(regions=regions, scale=scale, warnings=(note,) if small else ())

    def _finer_scale(self, pixels: Pixels, scale: float, regions: list[Region]) -> float:
        """The scale of a second look, or `scale` where the first will do."""
        height, width = pixels.shape[:2]
        text = median_height(regions) * scale
        if regions and text >= SMALL_TEXT:
            return scale
        if not regions and (scale == 1.0 or int(np.ptp(pixels[::4, ::4])) < 32):
            return scale  # seen at full size, or blank
        wanted = scale * COMFORTABLE_TEXT / text if regions else 2 * scale
        wanted = min(wanted, LARGEST_SCALE, 4 * scale)
        side = float(self.facts.side)
        while wanted > scale and _tile_count(width, height, wanted, side) > MAX_TILES:
            wanted *= 0.9
        return max(wanted, scale)

    def _look(self, pixels: Pixels, scale: float) -> list[Region]:
        height, width = pixels.shape[:2]
        overlap = max(64, self.facts.side // 10)
        plan = plan_tiles(width, height, scale, self.facts.side, overlap)
        parts = [self._look_at(pixels, tile, scale) for tile in plan.tiles]
        regions = parts[0] if len(parts) == 1 else merge_seams(parts)
        return [clip(r, width, height) for r in regions]

    def _look_at(self, pixels: Pixels, tile: Tile, scale: float) -> list[Region]:
        batch, width, height = to_batch(pixels, tile, scale, self.facts)
        exact = (width / (tile.x1 - tile.x0), height / (tile.y1 - tile.y0))
        with self._turn:
            (output,) = self.engine.run([batch])
            found = regions_of(output.values[0, 0, :height, :width], self.facts)
        return [to_page(r, tile, exact) for r in found]


def _tile_count(width: int, height: int, scale: float, side: float) -> float:
    return max(1.0, width * scale / side) * max(1.0, height * scale / side)
