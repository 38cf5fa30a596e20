from __future__ import annotations

import math
import random

import cv2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fakes.rendered import blank, tilted_box
from tierocr.shared.detection import (
    DetectorFacts,
    Tile,
    TilePlan,
    clip,
    median_height,
    merge_seams,
    plan_tiles,
    regions_of,
    tensor_size,
    to_batch,
    to_page,
)
from tierocr.shared.document import Floats, Quad, Region
from tierocr.shared.geometry import bounds, centre, quad_size, reading_angle, rectangle, turn

FACTS = DetectorFacts()
SIDE, OVERLAP = 1280, 128


def kernel_map(width: int, height: int, boxes: list[Quad], probability: float = 0.9) -> Floats:
    """What a detector answers: each text box shrunk as DB's training shrinks it."""
    found = np.zeros((height, width), dtype=np.float32)
    for box in boxes:
        along, across = quad_size(box)
        # grown by w h r / (2 (w + h)) the kernel must be the box again: bisect its inset
        low, high = 0.0, min(along, across) / 2
        for _ in range(60):
            d = (low + high) / 2
            w, h = along - 2 * d, across - 2 * d
            low, high = (d, high) if w * h * FACTS.unclip_ratio / (2 * (w + h)) > d else (low, d)
        kernel = tilted_box(along - 2 * low, across - 2 * low, reading_angle(box), centre(box))
        cv2.fillPoly(found, [np.round(kernel).astype(np.int32)], (probability,))
    return found


def assert_near(found: Quad, wanted: Quad, tolerance: float) -> None:
    assert np.abs(np.asarray(found) - wanted).max() <= tolerance, (found, wanted)


# Probability maps


@pytest.mark.parametrize("degrees", [-40, -10, -1, 0, 3, 15, 44])
def test_drawn_boxes_are_found_where_they_are(degrees: float) -> None:
    box = tilted_box(200, 30, degrees, (200, 200))
    (found,) = regions_of(kernel_map(400, 400, [box]), FACTS)
    assert_near(found.quad, box, 4)
    assert 0.75 < found.score <= 0.9


@pytest.mark.parametrize("degrees", [-8, -3, 0, 3, 8])
def test_a_tall_box_reads_down(degrees: float) -> None:
    box = tilted_box(30, 250, degrees, (200, 200))
    (found,) = regions_of(kernel_map(400, 400, [box]), FACTS)
    assert_near(found.quad, turn(box, 1), 4)


def test_each_line_of_a_page_is_one_region() -> None:
    boxes = [rectangle(20, 40 * i + 10, 60 + 30 * i, 40 * i + 34) for i in range(9)]
    found = regions_of(kernel_map(400, 400, boxes), FACTS)
    assert len(found) == len(boxes)
    for region, box in zip(sorted(found, key=lambda r: r.quad[0][1]), boxes, strict=True):
        assert_near(region.quad, box, 2)


def test_what_is_faint_or_thin_is_no_text() -> None:
    line = rectangle(50, 50, 250, 80)
    assert regions_of(kernel_map(300, 200, [line], 0.15), FACTS) == []  # under the threshold
    assert regions_of(kernel_map(300, 200, [line], 0.3), FACTS) == []  # weak all over
    speck = np.zeros((100, 100), dtype=np.float32)
    speck[50:52, 10:90] = 1.0
    assert regions_of(speck, FACTS) == []
    assert regions_of(np.zeros((64, 64), dtype=np.float32), FACTS) == []


def test_a_map_full_of_text_is_one_region_up_to_its_edge() -> None:
    (found,) = regions_of(np.ones((64, 128), dtype=np.float32), FACTS)
    x0, y0, x1, y1 = bounds(clip(found, 128, 64).quad)
    assert (x0, y0) == (0, 0) and x1 >= 127 and y1 >= 63


@given(st.integers(0, 10_000))
def test_scores_are_probabilities_on_any_map(seed: int) -> None:
    noisy = np.random.default_rng(seed).random((48, 80), dtype=np.float32)
    noisy = np.asarray(cv2.GaussianBlur(noisy, (0, 0), 2), dtype=np.float32)
    noisy = (noisy - noisy.min()) / (noisy.max() - noisy.min())
    for region in regions_of(noisy, FACTS):
        assert FACTS.box_threshold <= region.score <= 1
        assert np.isfinite(region.quad).all()


# Tiles

sizes = st.integers(1, 12_000)


def side_of_first_look(width: int, height: int) -> float:
    return min(1.0, SIDE / max(width, height))


@given(sizes, sizes, st.floats(0.1, 2.0))
@example(1804, 1000, SIDE / 1804)
@example(2480, 3508, SIDE / 3508)
def test_tiles_cover_every_pixel(width: int, height: int, scale: float) -> None:
    plan = plan_tiles(width, height, scale, SIDE, OVERLAP)
    columns = sorted({(t.x0, t.x1) for t in plan.tiles})
    rows = sorted({(t.y0, t.y1) for t in plan.tiles})
    assert len(plan.tiles) == len(columns) * len(rows)
    for spans, length in ((columns, width), (rows, height)):
        assert spans[0][0] == 0 and spans[-1][1] == length
        assert all(0 <= a < b <= length for a, b in spans)
        for (_, end), (start, _) in zip(spans, spans[1:], strict=False):
            assert (end - start) * scale >= OVERLAP - 2 * max(scale, 1), "a seam without overlap"


@given(sizes, sizes, st.floats(0.1, 2.0))
@example(5000, 5000, 0.9)
@example(5000, 5000, 1.9)
def test_no_tile_is_larger_than_the_network_takes(width: int, height: int, scale: float) -> None:
    facts = DetectorFacts(side=SIDE)
    for tile in plan_tiles(width, height, scale, SIDE, OVERLAP).tiles:
        content_width, content_height, full_width, full_height = tensor_size(tile, scale, facts)
        assert max(content_width, content_height) <= SIDE
        assert max(full_width, full_height) <= SIDE


@pytest.mark.parametrize("aspect", [0.5, 1.0])
def test_a_page_scaled_to_fit_is_one_tile_whatever_its_size(aspect: float) -> None:
    several = []
    for longest in range(SIDE, 9000):
        shortest = max(1, round(longest * aspect))
        scale = side_of_first_look(longest, shortest)
        try:
            plan = plan_tiles(shortest, longest, scale, SIDE, OVERLAP)
        except ZeroDivisionError:
            several.append((longest, "no plan"))
            continue
        if len(plan.tiles) != 1:
            several.append((longest, f"{len(plan.tiles)} tiles"))
    assert several == []


@given(st.integers(1, SIDE), st.integers(1, SIDE))
def test_a_small_page_is_one_tile(width: int, height: int) -> None:
    whole = Tile(x0=0, y0=0, x1=width, y1=height)
    assert plan_tiles(width, height, 1.0, SIDE, OVERLAP) == TilePlan(scale=1.0, tiles=(whole,))


# Network inputs


@given(st.integers(1, 300), st.integers(1, 300), st.floats(0.2, 2.0))
def test_input_sides_are_multiples_of_the_bucket(width: int, height: int, scale: float) -> None:
    tile = Tile(x0=0, y0=0, x1=width, y1=height)
    content_width, content_height, full_width, full_height = tensor_size(tile, scale, FACTS)
    batch, *content = to_batch(blank(width, height), tile, scale, FACTS)
    assert content == [content_width, content_height]
    assert batch.shape == (1, full_height, full_width, 3)
    assert batch.dtype == np.uint8
    assert full_width % FACTS.bucket == full_height % FACTS.bucket == 0
    assert 0 <= full_width - content_width < FACTS.bucket
    assert 0 <= full_height - content_height < FACTS.bucket


def test_pixels_are_taken_as_they_are_where_nothing_is_scaled() -> None:
    page = np.random.default_rng(1).integers(0, 256, (64, 128, 3), dtype=np.uint8)
    batch, _, _ = to_batch(page, Tile(x0=0, y0=0, x1=128, y1=64), 1.0, FACTS)
    assert np.array_equal(batch[0], page)


def test_the_rest_of_the_input_repeats_the_last_row_and_column() -> None:
    page = np.random.default_rng(2).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    batch, _, _ = to_batch(page, Tile(x0=10, y0=5, x1=70, y1=45), 1.0, FACTS)
    assert batch.shape == (1, 64, 64, 3)
    assert (batch[0, 40:, :60] == batch[0, 39:40, :60]).all()
    assert (batch[0, :, 60:] == batch[0, :, 59:60]).all()


def test_regions_of_a_tile_are_moved_to_the_page() -> None:
    tile = Tile(x0=100, y0=200, x1=400, y1=500)
    region = Region(quad=rectangle(10, 20, 30, 40), score=0.5)
    moved = to_page(region, tile, (2.0, 4.0))
    assert moved == Region(quad=rectangle(105, 205, 115, 210), score=0.5)


@given(st.tuples(*[st.floats(-500, 1500)] * 4))
def test_clipping_keeps_corners_on_the_page(box: tuple[float, float, float, float]) -> None:
    clipped = clip(Region(quad=rectangle(*box), score=0.5), 1000, 800)
    assert all(0 <= x <= 1000 and 0 <= y <= 800 for x, y in clipped.quad)


def test_median_height() -> None:
    assert median_height([]) == 0
    lines = [Region(quad=rectangle(0, 0, 100, h), score=1.0) for h in (10, 12, 40)]
    assert median_height(lines) == 12


# Seams


def seen(lines: list[Quad], plan: TilePlan) -> list[list[Region]]:
    """What a faultless detector finds in each tile: the level lines, cut off at the tile's edge."""
    parts = []
    for tile in plan.tiles:
        part = []
        for line in lines:
            x0, y0, x1, y1 = bounds(line)
            x0, x1 = max(x0, tile.x0), min(x1, tile.x1)
            y0, y1 = max(y0, tile.y0), min(y1, tile.y1)
            if x1 - x0 > 4 and y1 - y0 > 4:
                part.append(Region(quad=rectangle(x0, y0, x1, y1), score=0.9))
        parts.append(part)
    return parts


def assert_whole(lines: list[Quad], plan: TilePlan) -> None:
    merged = sorted((bounds(r.quad) for r in merge_seams(seen(lines, plan))), key=lambda b: b[1])
    assert merged == [bounds(line) for line in lines]


@pytest.mark.parametrize("length", [200, 500, 900, 1400, 1900])
@pytest.mark.parametrize("start", [60, 700, 1100, 1160])
def test_a_line_cut_by_a_seam_becomes_whole(start: int, length: int) -> None:
    plan = plan_tiles(2300, 600, 1.0, SIDE, OVERLAP)
    assert len(plan.tiles) == 2
    end = min(start + length, 2290)
    assert_whole([rectangle(start, 40 * i + 10, end, 40 * i + 38) for i in range(10)], plan)


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.6])
def test_lines_across_a_whole_page_of_many_tiles_become_whole(scale: float) -> None:
    plan = plan_tiles(2480, 3508, scale, SIDE, OVERLAP)
    assert len(plan.tiles) >= 6
    assert_whole([rectangle(100, 60 * i + 10, 2380, 60 * i + 40) for i in range(50)], plan)


def test_one_line_through_many_tiles_becomes_whole() -> None:
    plan = plan_tiles(12_000, 90, 1.0, SIDE, OVERLAP)
    assert_whole([rectangle(20, 30, 11_900, 62)], plan)


def test_different_lines_are_not_merged() -> None:
    left = [Region(quad=rectangle(0, 30 * i, 1280, 30 * i + 26), score=0.9) for i in range(5)]
    # one text height lower, two columns of one row, and a heading above its small print
    right = [
        Region(quad=rectangle(1152, 200 + 30 * i, 2000, 226 + 30 * i), score=0.9) for i in (0,)
    ]
    cells = [Region(quad=rectangle(1290, 30 * i, 1400, 30 * i + 26), score=0.9) for i in range(5)]
    assert len(merge_seams([left, [*right, *cells]])) == 11


def test_tight_lines_are_not_merged_with_their_neighbours() -> None:
    """Grown boxes of neighbouring lines overlap a little."""
    plan = plan_tiles(2300, 600, 1.0, SIDE, OVERLAP)
    assert_whole([rectangle(100, 26 * i, 2200, 26 * i + 30) for i in range(15)], plan)


def test_the_same_line_in_both_tiles_stands_once() -> None:
    twice = Region(quad=rectangle(1160, 10, 1270, 40), score=0.9)
    nearly = Region(quad=rectangle(1161, 11, 1271, 39), score=0.8)
    assert len(merge_seams([[twice], [nearly]])) == 1


def test_a_tilted_line_becomes_whole_along_its_axis() -> None:
    t = math.radians(3)
    ends = [(x, 300 + x * math.tan(t)) for x in (100.0, 900.0, 1000.0, 1900.0)]
    pieces = []
    for (ax, ay), (bx, by) in ((ends[0], ends[2]), (ends[1], ends[3])):
        middle, size = ((ax + bx) / 2, (ay + by) / 2), math.dist((ax, ay), (bx, by))
        pieces.append(Region(quad=tilted_box(size, 30, 3, middle), score=0.9))
    (whole,) = merge_seams([[pieces[0]], [pieces[1]]])
    assert quad_size(whole.quad)[0] == pytest.approx(1800 / math.cos(t), rel=0.01)
    assert quad_size(whole.quad)[1] == pytest.approx(30, rel=0.05)
    assert reading_angle(whole.quad) == pytest.approx(3, abs=0.2)


@given(st.integers(0, 10_000))
def test_regions_of_one_tile_are_never_merged(seed: int) -> None:
    rng = random.Random(seed)
    part = [
        Region(quad=rectangle(x, y, x + 100, y + 20), score=0.9)
        for x, y in [(rng.randrange(300), rng.randrange(300)) for _ in range(12)]
    ]
    assert merge_seams([part]) == part
    assert merge_seams([[], part, []]) == part
