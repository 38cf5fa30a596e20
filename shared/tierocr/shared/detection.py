"""Where text stands: page size -> tiles, tile -> pixels for the network, probability map ->
regions, seams merged.

Pure functions (OpenCV for arithmetic on arrays only); must not know which runtime runs the network,
nor about files or clocks. The post-processing is DB's (Liao et al., "Real-time Scene Text Detection
with Differentiable Binarization", AAAI 2020, 3.4), with the polygon offset done in closed form: a
rectangle grown by d on every side is what offsetting it and fitting a rectangle again would give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from tierocr.shared.document import Floats, Pixels, Quad, Region
from tierocr.shared.geometry import (
    as_quad,
    bounds,
    box_overlap,
    centre,
    direction,
    grow,
    order_corners,
    quad_size,
    reading_angle,
    scale_quad,
)

MIN_SIDE = 3.0
"""Regions thinner than this many map pixels are noise (DB's `min_size`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorFacts:
    """What a detector needs to know about its pack.

    `mean`, `std`: per channel in BGR order, of pixels scaled to 0..1. `stride`: input sides are
    multiples of it. `side`: longest side in pixels of one input. `bucket`: input sides are rounded
    up to it, so that the runtime sees few shapes. `threshold` binarises the map, `box_threshold` is
    the least mean probability of a region, `unclip_ratio` DB's growth of the shrunk text kernel.
    """

    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)
    stride: int = 32
    side: int = 960
    bucket: int = 64
    threshold: float = 0.2
    box_threshold: float = 0.4
    unclip_ratio: float = 1.4
    max_regions: int = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A rectangle of the page, in page pixels, end exclusive."""

    x0: int
    y0: int
    x1: int
    y1: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """How a page is fed to the detector: one scale (input pixels per page pixel) and the tiles."""

    scale: float
    tiles: tuple[Tile, ...]


def plan_tiles(width: int, height: int, scale: float, side: int, overlap: int) -> TilePlan:
    """Cover a page with tiles that measure at most `side` input pixels on each side.

    Neighbours share `overlap` input pixels, so that a line cut by one seam is whole in the other
    tile.
    """
    return TilePlan(
        scale=scale,
        tiles=tuple(
            Tile(x0=x0, y0=y0, x1=x1, y1=y1)
            for y0, y1 in _spans(height, side / scale, overlap / scale)
            for x0, x1 in _spans(width, side / scale, overlap / scale)
        ),
    )


def tensor_size(tile: Tile, scale: float, facts: DetectorFacts) -> tuple[int, int, int, int]:
    """(content width, content height, input width, input height) of a tile in input pixels.

    The content is scaled, never padded up; the input is rounded up to `bucket`.
    """
    width = max(1, round((tile.x1 - tile.x0) * scale))
    height = max(1, round((tile.y1 - tile.y0) * scale))
    return width, height, _round_up(width, facts.bucket), _round_up(height, facts.bucket)


def to_batch(
    pixels: Pixels, tile: Tile, scale: float, facts: DetectorFacts
) -> tuple[Pixels, int, int]:
    """Cut and scale a tile: (1, H, W, 3) uint8, H and W multiples of the bucket; and the width and
    height of the content in it.

    The rest of the input repeats the tile's last row and column, which draws no false edge.
    """
    width, height, full_width, full_height = tensor_size(tile, scale, facts)
    part: cv2.typing.MatLike = pixels[tile.y0 : tile.y1, tile.x0 : tile.x1]
    part = _resized(part, width, height)
    if (full_width, full_height) != (width, height):
        part = cv2.copyMakeBorder(
            part, 0, full_height - height, 0, full_width - width, cv2.BORDER_REPLICATE
        )
    return np.asarray(part, dtype=np.uint8)[None], width, height


def _resized(part: cv2.typing.MatLike, width: int, height: int) -> cv2.typing.MatLike:
    """Scaled, by exact halves first: these cost a tenth of what any other ratio costs."""
    while part.shape[1] >= 2 * width and part.shape[0] >= 2 * height:
        half = (part.shape[1] // 2, part.shape[0] // 2)
        even = part[: 2 * half[1], : 2 * half[0]]
        part = cv2.resize(even, half, interpolation=cv2.INTER_AREA)
    if (width, height) == (part.shape[1], part.shape[0]):
        return part
    how = cv2.INTER_AREA if width < part.shape[1] else cv2.INTER_LINEAR
    return cv2.resize(part, (width, height), interpolation=how)


def regions_of(probability: Floats, facts: DetectorFacts) -> list[Region]:
    """(H, W) probability map -> regions in map pixels, unordered, each grown to the text's full
    extent.
    """
    mask = (probability > facts.threshold).astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    found = []
    for contour in contours[: facts.max_regions]:
        if len(contour) < 3:
            continue
        corners = cv2.boxPoints(cv2.minAreaRect(contour))
        quad = order_corners(corners)
        along, across = quad_size(quad)
        if min(along, across) < MIN_SIDE:
            continue
        score = _mean_inside(probability, quad)
        if score < facts.box_threshold:
            continue
        offset = along * across * facts.unclip_ratio / (2 * (along + across))
        found.append(Region(quad=grow(quad, offset, offset), score=score))
    return found


def to_page(region: Region, tile: Tile, scale: tuple[float, float]) -> Region:
    """From map pixels of a tile to page pixels. `scale`: input pixels per page pixel in x and y."""
    quad = scale_quad(region.quad, 1 / scale[0], 1 / scale[1], tile.x0, tile.y0)
    return Region(quad=quad, score=region.score)


def clip(region: Region, width: int, height: int) -> Region:
    """Keep the corners inside the page."""
    quad = as_quad((min(max(x, 0.0), width), min(max(y, 0.0), height)) for x, y in region.quad)
    return Region(quad=quad, score=region.score)


def merge_seams(parts: list[list[Region]]) -> list[Region]:
    """Regions of overlapping tiles, in page pixels, -> one list in which each line stands once.

    Two regions of different tiles that cover one another are the same text: where they continue
    each other along the line they become their union, otherwise the larger one stays.
    """
    kept: list[Region] = []
    for part in parts:
        old = len(kept)
        for region in part:
            twin = next((i for i in range(old) if _same_line(kept[i], region)), None)
            if twin is None:
                kept.append(region)
            else:
                kept[twin] = _union(kept[twin], region)
    return kept


def median_height(regions: list[Region]) -> float:
    """Median text height in the regions' own pixels, 0 without regions."""
    return float(np.median([quad_size(r.quad)[1] for r in regions])) if regions else 0.0


def _spans(length: int, size: float, overlap: float) -> list[tuple[int, int]]:
    whole = max(1, math.floor(size + 1e-6))  # side / (side / length) may be a little less
    if length <= whole:
        return [(0, length)]
    count = max(2, math.ceil((length - overlap) / max(whole - overlap, 1.0)))
    step = (length - whole) / (count - 1)
    return [(s, s + whole) for s in (round(i * step) for i in range(count))]


def _round_up(value: int, step: int) -> int:
    return (value + step - 1) // step * step


def _mean_inside(probability: Floats, quad: Quad) -> float:
    """Mean probability inside a quad given in map pixels."""
    height, width = probability.shape
    x0, y0, x1, y1 = bounds(quad)
    left, top = _within(math.floor(x0), width), _within(math.floor(y0), height)
    right, bottom = _within(math.ceil(x1), width), _within(math.ceil(y1), height)
    mask = np.zeros((bottom - top + 1, right - left + 1), dtype=np.uint8)
    corners = np.asarray(quad, dtype=np.float32) - (left, top)
    cv2.fillPoly(mask, [np.round(corners).astype(np.int32)], (1,))
    return float(cv2.mean(probability[top : bottom + 1, left : right + 1], mask)[0])


def _within(position: int, length: int) -> int:
    return min(max(position, 0), length - 1)


def _same_line(a: Region, b: Region) -> bool:
    if box_overlap(a.quad, b.quad) == 0:
        return False
    (length_a, height_a), (length_b, height_b) = quad_size(a.quad), quad_size(b.quad)
    lower, shorter = min(height_a, height_b), min(length_a, length_b)
    along, across = _shared(a.quad, b.quad) if length_a >= length_b else _shared(b.quad, a.quad)
    if max(height_a, height_b) > 1.6 * lower:  # one of them is a sliver, cut along the line
        return along > 0.6 * shorter and across > 0.6 * lower
    turned = abs(reading_angle(a.quad) - reading_angle(b.quad)) % 360
    enough = along > 0.5 * min(lower, shorter)  # a seam shares a few text heights of any line
    return min(turned, 360 - turned) < 10 and enough and _cross_offset(a.quad, b.quad) < 0.5


def _shared(axis: Quad, other: Quad) -> tuple[float, float]:
    """How much two quads share along and across the first one's reading direction, in pixels."""
    theta = math.radians(reading_angle(axis))
    turn = np.array([[math.cos(theta), -math.sin(theta)], [math.sin(theta), math.cos(theta)]])
    p, q = np.asarray(axis) @ turn, np.asarray(other) @ turn
    shared = np.minimum(p.max(axis=0), q.max(axis=0)) - np.maximum(p.min(axis=0), q.min(axis=0))
    return max(0.0, float(shared[0])), max(0.0, float(shared[1]))


def _cross_offset(a: Quad, b: Quad) -> float:
    """Distance of b's centre from a's mid line, in heights of a."""
    ux, uy = direction(a)
    n = math.hypot(ux, uy) or 1.0
    (ax, ay), (bx, by) = centre(a), centre(b)
    ox, oy = bx - ax, by - ay
    return abs(-ox * uy + oy * ux) / n / max(quad_size(a)[1], 1e-6)


def _union(a: Region, b: Region) -> Region:
    """The smallest rectangle around both, along the axis of the longer one."""
    longer = a if quad_size(a.quad)[0] >= quad_size(b.quad)[0] else b
    x0, y0, x1, y1 = bounds(a.quad)
    u0, v0, u1, v1 = bounds(b.quad)
    if x0 <= u0 and y0 <= v0 and x1 >= u1 and y1 >= v1:
        return a
    if u0 <= x0 and v0 <= y0 and u1 >= x1 and v1 >= y1:
        return b
    points = np.asarray(a.quad + b.quad, dtype=np.float64)
    theta = math.radians(reading_angle(longer.quad))
    axes = np.array([[math.cos(theta), math.sin(theta)], [-math.sin(theta), math.cos(theta)]])
    local = points @ axes.T
    (l0, t0), (l1, t1) = local.min(axis=0), local.max(axis=0)
    corners = np.array([[l0, t0], [l1, t0], [l1, t1], [l0, t1]]) @ axes
    return Region(quad=as_quad(corners), score=max(a.score, b.score))
