from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from tests.fakes.engines import painted_reader
from tests.fakes.networks import Broken, InkFinder
from tests.fakes.painted import paint
from tests.fakes.rendered import blank, line_crop, page_of, tilted, write
from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import (
    EngineInfo,
    Matrix3,
    Page,
    PageImage,
    Pixels,
    Quad,
    TextRun,
)
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import (
    bounds,
    centre,
    quad_size,
    reading_angle,
    rectangle,
    transform_quad,
)
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader, ReaderOptions, Timed
from tierocr.shared.ocr.recogniser import Recogniser

LINES = [
    "Invoice number 4711",
    "Delivery address below",
    "Total amount 128.50 EUR",
    "Payment within 30 days",
    "Thank you for shopping",
    "Customer 88021 Berlin",
]


def page_read(reader: Reader, pixels: Pixels, **more: object) -> Page:
    image = PageImage(pixels=np.ascontiguousarray(pixels), **more)  # type: ignore[arg-type]
    return reader.read(image).page


def texts(page: Page) -> list[str]:
    return [line.text for line in page.lines]


def ink_inside(stored: Pixels, quad: Quad) -> float:
    """The share of the page's dark pixels that lie in the quad."""
    mask = np.zeros(stored.shape[:2], dtype=np.uint8)
    cv2.fillPoly(mask, [np.round(quad).astype(np.int32)], (1,))
    dark = stored[:, :, 0] < 128
    return float((dark & (mask > 0)).sum() / dark.sum())


# Which way up


@pytest.mark.parametrize("quarter_turns", [0, 1, 2, 3])
def test_a_page_is_read_whichever_way_up_it_lies(edge_reader: Reader, quarter_turns: int) -> None:
    upright = page_of(LINES)
    stored = np.ascontiguousarray(np.rot90(upright, quarter_turns))
    page = page_read(edge_reader, stored)
    assert texts(page) == LINES
    assert page.orientation == 90 * quarter_turns
    assert (page.width, page.height) == (900, 700)
    assert all(line.angle == pytest.approx(0, abs=1.5) for line in page.lines)
    for i, line in enumerate(page.lines):
        x0, y0, x1, y1 = bounds(line.region.quad)
        assert x0 == pytest.approx(60, abs=10) and x1 < 500
        assert y0 < (i + 1) * 80 - 5 < y1
    back = [transform_quad(page.transform, line.region.quad) for line in page.lines]
    assert sum(ink_inside(stored, quad) for quad in back) > 0.99
    assert all(ink_inside(stored, quad) > 0.1 for quad in back)


def test_a_turn_found_adds_to_what_the_file_said(edge_reader: Reader) -> None:
    said: Matrix3 = ((1.0, 0.0, 1000.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    page = page_read(
        edge_reader, np.rot90(page_of(LINES), 2), orientation=270, transform=said, index=3
    )
    assert (page.orientation, page.index) == (90, 3)
    (x, y) = centre(transform_quad(page.transform, page.lines[0].region.quad))
    assert x == pytest.approx(1000 + 900 - 204, abs=10) and y == pytest.approx(700 - 70, abs=10)


def test_pages_are_not_turned_where_that_is_switched_off(edge_reader: Reader) -> None:
    reader = Reader(
        edge_reader.detector,
        edge_reader.recogniser,
        info=edge_reader.info,
        options=ReaderOptions(find_orientation=False),
    )
    page = page_read(reader, np.rot90(page_of(LINES), 1))
    assert (page.orientation, page.width, page.height) == (0, 700, 900)


def test_one_line_upside_down_is_read_where_it_stands(edge_reader: Reader) -> None:
    pixels = page_of(LINES)
    pixels[205:265] = pixels[205:265][::-1, ::-1].copy()
    page = page_read(edge_reader, pixels)
    assert texts(page) == LINES
    assert page.orientation == 0
    flipped = page.lines[2]
    assert abs(flipped.angle) == pytest.approx(180, abs=2)
    assert flipped.region.quad[0][0] > flipped.region.quad[1][0]
    first, last = flipped.words[0], flipped.words[-1]
    assert centre(first.quad)[0] > centre(last.quad)[0]
    assert bounds(flipped.region.quad)[2] == pytest.approx(900 - 60, abs=10)


# What a page says


def test_a_blank_page_has_no_lines(edge_reader: Reader) -> None:
    for value in (0, 128, 255):
        page = page_read(edge_reader, np.full((400, 300, 3), value, dtype=np.uint8))
        assert page.lines == () and page.error is None and page.warnings == ()
        assert (page.width, page.height, page.orientation) == (300, 400, 0)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 500), (500, 1), (33, 7)])
def test_a_tiny_page_is_no_trouble(edge_reader: Reader, width: int, height: int) -> None:
    assert page_read(edge_reader, blank(width, height)).lines == ()


@pytest.mark.parametrize("degrees", [-8, -3, 3, 8])
def test_tilted_text_is_read_in_order(edge_reader: Reader, degrees: float) -> None:
    page = page_read(edge_reader, tilted(page_of(LINES), degrees))
    assert texts(page) == LINES
    assert all(line.angle == pytest.approx(degrees, abs=2) for line in page.lines)


def test_columns_of_a_receipt_are_read_row_by_row(edge_reader: Reader) -> None:
    pixels = blank(800, 600)
    rows = [("Coffee", "3.20"), ("Bread", "1.85"), ("Butter", "2.49"), ("Total", "7.54")]
    for i, (item, price) in enumerate(rows):
        write(pixels, item, 40, 100 + 70 * i)
        write(pixels, price, 620, 102 + 70 * i)
    assert texts(page_read(edge_reader, pixels)) == [t for row in rows for t in row]


def test_text_that_touches_the_edges_keeps_its_first_and_last_character(
    edge_reader: Reader,
) -> None:
    for text in ("Hamburg 2026", "8709 2221 6898", "MINIMUM WEIGHT"):
        crop = line_crop(text, scale=1.2)
        dark = np.flatnonzero((crop[:, :, 0] < 128).any(axis=0))
        pixels = blank(dark[-1] - dark[0] + 1, 160)
        pixels[60 : 60 + crop.shape[0]] = crop[:, dark[0] : dark[-1] + 1]
        (line,) = page_read(edge_reader, pixels).lines
        assert line.text.replace(" ", "") == text.replace(" ", "")


def test_a_line_knows_its_words_and_characters(edge_reader: Reader) -> None:
    page = page_read(edge_reader, page_of(LINES))
    for line, text in zip(page.lines, LINES, strict=True):
        assert [w.text for w in line.words] == text.split()
        x0, y0, x1, y1 = bounds(line.region.quad)
        lefts = []
        for word in line.words:
            assert "".join(c.text for c in word.characters) == word.text
            for char in word.characters:
                u0, v0, u1, v1 = bounds(char.quad)
                assert x0 - 0.1 <= u0 <= u1 <= x1 + 0.1 and y0 - 0.1 <= v0 <= v1 <= y1 + 0.1
                lefts.append(u0)
        assert lefts == sorted(lefts)
        assert line.score_raw == min(c.score_raw for w in line.words for c in w.characters)
        assert line.signals is not None and line.signals.length == len(text.replace(" ", ""))
        assert line.signals.crop_height == pytest.approx(quad_size(line.region.quad)[1])


def test_small_text_beyond_reading_is_said(edge_reader: Reader) -> None:
    finder = Detector(InkFinder(), DetectorFacts(unclip_ratio=0.0))
    reader = Reader(finder, edge_reader.recogniser, info=edge_reader.info)
    pixels = blank(600, 200)
    for top in range(10, 190, 12):
        pixels[top : top + 4, 20:100] = 0
    (warning,) = page_read(reader, pixels).warnings
    assert warning.startswith("small text")
    assert page_read(edge_reader, page_of(LINES)).warnings == ()


def test_warnings_of_the_file_stay(edge_reader: Reader) -> None:
    page = page_read(edge_reader, page_of(LINES), warnings=("truncated",), dpi=200.0)
    assert page.warnings == ("truncated",) and page.dpi == 200


# Pages of odd shapes


def test_a_very_tall_page_is_read_line_by_line(edge_reader: Reader) -> None:
    wanted = [f"Row number {i:03d} of strip" for i in range(85)]
    page = page_read(edge_reader, page_of(wanted, width=600, height=7000))
    assert len(page.lines) == len(wanted)
    right = sum(a == b for a, b in zip(texts(page), wanted, strict=True))
    assert right >= 80  # the stroke font's 6 is not always a 6
    tops = [bounds(line.region.quad)[1] for line in page.lines]
    assert tops == sorted(tops)


def test_a_very_wide_strip_with_one_line_is_one_line(edge_reader: Reader) -> None:
    wanted = " ".join(f"word{i:03d}" for i in range(75))
    pixels = blank(12_000, 90)
    write(pixels, wanted, 20, 60, scale=1.2)
    (line,) = page_read(edge_reader, pixels).lines
    assert [w[:4] for w in line.text.split()] == ["word"] * 75
    assert abs(len(line.text) - len(wanted)) <= 4


@pytest.mark.parametrize("height", [1804, 3463, 1696])
def test_no_height_of_a_page_is_special(edge_reader: Reader, height: int) -> None:
    page = page_read(edge_reader, page_of(LINES, width=1000, height=height, scale=1.5, step=120))
    assert texts(page) == LINES


def test_lines_wider_than_the_network_are_read_once(edge_reader: Reader) -> None:
    """Small print on a large page: looked at again in tiles, whose seams cut every line."""
    wanted = [
        f"Paragraph {i} in small print runs over the whole width of this rather wide sheet, and "
        f"every seam between two tiles cuts right through it, so that a reader who does not know "
        f"about seams reads the words in the middle of it twice, once in each of the two tiles "
        f"that show them {1000 + i}"
        for i in range(6)
    ]
    pixels = blank(3690, 2600)
    for i, text in enumerate(wanted):
        write(pixels, text, 100, 200 + 400 * i, scale=0.65)
    page = page_read(edge_reader, pixels)
    assert page.scale > 0.5  # a second look
    assert len(page.lines) == len(wanted)
    for line, text in zip(page.lines, wanted, strict=True):
        assert abs(len(line.text) - len(text)) <= 4
        assert line.text.split()[:3] == text.split()[:3]
        assert line.text.split()[-1] == text.split()[-1]


@pytest.mark.parametrize("degrees", [-7, -4, 4, 7])
def test_a_tilted_column_is_read_downwards(edge_reader: Reader, degrees: float) -> None:
    """A line that was printed downwards, on a page that is not quite straight."""
    pixels = page_of(LINES, height=900)
    side = np.rot90(line_crop("Reference 4711 of 2026"), -1)
    pixels[300 : 300 + side.shape[0], 700 : 700 + side.shape[1]] = side
    page = page_read(edge_reader, tilted(pixels, degrees))
    assert "Reference 4711 of 2026" in texts(page)
    (line,) = (n for n in page.lines if n.text.startswith("Reference"))
    assert reading_angle(line.region.quad) == pytest.approx(90 + degrees, abs=3)


# The file's own text


def run_over(page: Page, index: int, text: str) -> TextRun:
    return TextRun(text=text, quad=page.lines[index].region.quad)


def test_the_files_own_text_is_used_where_it_has_some(edge_reader: Reader) -> None:
    pixels = page_of(LINES)
    plain = page_read(edge_reader, pixels)
    assert {line.source for line in plain.lines} == {"edge"}
    own = (run_over(plain, 1, "Delivery address, as typed"), run_over(plain, 4, "Thanks!"))
    page = page_read(edge_reader, pixels, text_layer=own)
    wanted = LINES.copy()
    wanted[1], wanted[4] = "Delivery address, as typed", "Thanks!"
    assert texts(page) == wanted
    assert [n.source for n in page.lines] == ["edge", "text_layer", "edge"] * 2
    assert page.lines[1].score_raw == page.lines[1].confidence == 1


def test_own_text_where_nothing_was_seen_is_kept(edge_reader: Reader) -> None:
    run = TextRun(text="hidden", quad=rectangle(60, 600, 200, 630))
    page = page_read(edge_reader, page_of(LINES), text_layer=(run,))
    assert texts(page) == [*LINES, "hidden"]


# The engines behind it


def test_stages_are_timed(edge_reader: Reader) -> None:
    timed = edge_reader.read(PageImage(pixels=page_of(LINES)))
    assert isinstance(timed, Timed)
    assert {"detect", "recognise", "compose"} <= timed.seconds.keys()
    assert all(math.isfinite(s) and s >= 0 for s in timed.seconds.values())


def test_reading_twice_gives_the_same(edge_reader: Reader) -> None:
    pixels = tilted(page_of(LINES), 2)
    assert page_read(edge_reader, pixels) == page_read(edge_reader, pixels)


def test_a_failing_engine_is_told() -> None:
    painted, _ = painted_reader()
    pixels = blank(400, 200)
    crop = paint("abcdefg")
    pixels[50 : 50 + crop.shape[0], 40 : 40 + crop.shape[1]] = crop
    info = EngineInfo(pack="fake", precision="f32", runtime="fake")
    for detector, recogniser in (
        (Detector(Broken(), painted.detector.facts), painted.recogniser),
        (painted.detector, Recogniser(Broken(), painted.recogniser.facts)),
    ):
        with pytest.raises(TierocrError) as caught:
            Reader(detector, recogniser, info=info).read(PageImage(pixels=pixels))
        assert caught.value.code == "internal"


def test_lines_carry_the_tier_that_read_them() -> None:
    painted, _ = painted_reader()
    pixels = blank(400, 200)
    crop = paint("abcdefg")
    pixels[50 : 50 + crop.shape[0], 40 : 40 + crop.shape[1]] = crop
    (line,) = page_read(painted, pixels).lines
    assert (line.text, line.source, line.status) == ("abcdefg", "cloud", "final")
