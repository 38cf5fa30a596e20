from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.rendered import tilted_box
from tierocr.shared.document import Region
from tierocr.shared.geometry import bounds, quad_size, reading_angle, rectangle, turn
from tierocr.shared.ocr.lines import (
    build_line,
    character_cells,
    is_ideographic,
    with_spaces,
    words_of,
)
from tierocr.shared.recognition import EMPTY, SPACE, Glyph, Reading

HEIGHT = 30.0


def glyph(text: str, middle: float, probability: float = 0.9) -> Glyph:
    return Glyph(
        text=text,
        start=max(0.0, middle - 0.004),
        end=min(1.0, middle + 0.004),
        probability=probability,
        margin=probability / 2,
        entropy=1 - probability,
    )


def set_in_type(text: str, pitch: float, gap: float) -> tuple[list[Glyph], tuple[float, float]]:
    """Glyphs of a text that the network read without its spaces; sizes in pixels.

    Each character is `pitch` wide, "|" in the text is white space of `gap` pixels.
    """
    x, middles = pitch / 2, []
    for char in text:
        if char == "|":
            x += gap
        else:
            middles.append((char, x))
            x += pitch
    length = x + pitch / 2
    return [glyph(char, at / length) for char, at in middles], (length, HEIGHT)


def text_of(glyphs: list[Glyph]) -> str:
    return "".join(g.text for g in glyphs)


@pytest.mark.parametrize("text", ["8709|2221|6898", "12|34|56|78", "Total|128.50", "No|4711"])
def test_groups_that_stand_apart_get_their_space(text: str) -> None:
    glyphs, size = set_in_type(text, pitch=16, gap=32)
    assert text_of(with_spaces(glyphs, size)) == text.replace("|", " ")


@given(
    st.text("abcdefghkmnopqrsuvwxyzABCDEFGH023456789", min_size=1, max_size=40),
    st.floats(6, 18),
    st.floats(-0.06, 0.06),
)
def test_evenly_spaced_letters_never_get_a_space(text: str, pitch: float, jitter: float) -> None:
    glyphs, size = set_in_type(text, pitch, 0)
    moved = [
        glyph(g.text, (g.start + g.end) / 2 + jitter * pitch / size[0] * (-1) ** i)
        for i, g in enumerate(glyphs)
    ]
    assert text_of(with_spaces(moved, size)) == text


@given(st.text("中文字合计元壹貳。，", min_size=1, max_size=20), st.floats(0, 200))
def test_ideographs_never_get_a_space(text: str, gap: float) -> None:
    glyphs, size = set_in_type("|".join(text), pitch=30, gap=gap)
    assert text_of(with_spaces(glyphs, size)) == text


def test_no_space_where_ideographs_meet_latin() -> None:
    glyphs, size = set_in_type("合计|Total|元", pitch=24, gap=48)
    assert text_of(with_spaces(glyphs, size)) == "合计Total元"


def test_a_space_that_was_read_is_not_doubled() -> None:
    glyphs, size = set_in_type("8709|2221", pitch=16, gap=32)
    both = [*glyphs[:4], glyph(SPACE, (glyphs[3].end + glyphs[4].start) / 2), *glyphs[4:]]
    assert text_of(with_spaces(both, size)) == "8709 2221"


@pytest.mark.parametrize("text", ["", "a", "a|b", "a|b|c"])
def test_too_few_glyphs_say_nothing_about_spaces(text: str) -> None:
    glyphs, size = set_in_type(text, pitch=16, gap=60)
    assert text_of(with_spaces(glyphs, size)) == text.replace("|", "")


characters = st.text("abcXYZ019.,- 中文合计", min_size=1, max_size=30)
probabilities = st.floats(0.05, 1.0)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    text = draw(characters)
    steps = [draw(st.floats(0.3, 3.0)) for _ in text]
    whole, x, glyphs = sum(steps), 0.0, []
    for char, step in zip(text, steps, strict=True):
        glyphs.append(glyph(char, (x + step / 2) / whole, draw(probabilities)))
        x += step
    return Reading(glyphs=tuple(glyphs))


@given(readings(), st.floats(-60, 60), st.floats(40, 2000))
def test_words_and_characters_are_the_line_without_its_spaces(
    reading: Reading, degrees: float, along: float
) -> None:
    region = Region(quad=tilted_box(along, HEIGHT, degrees, (500, 500)), score=0.7)
    line = build_line(reading, region, crop_height=HEIGHT, source="edge")
    if not reading.text.strip():
        assert line is None
        return
    assert line is not None
    assert line.text == line.text.strip()
    assert line.text.replace(" ", "") == reading.text.replace(" ", "")
    assert "".join(w.text for w in line.words) == line.text.replace(" ", "")
    assert all("".join(c.text for c in w.characters) == w.text for w in line.words)
    assert all(w.text and " " not in w.text for w in line.words)
    visible = [g.probability for g in reading.glyphs if g.text != SPACE]
    assert line.score_raw == line.confidence == min(visible)
    assert line.score_raw == min(w.score_raw for w in line.words)
    for word in line.words:
        assert word.score_raw == word.confidence == min(c.score_raw for c in word.characters)
    assert line.angle == pytest.approx(degrees, abs=0.01)
    assert line.region is region and line.source == "edge"


@given(readings())
def test_character_cells_are_ordered_and_inside_the_line(reading: Reading) -> None:
    cells = character_cells(reading.glyphs)
    assert len(cells) == len(reading.glyphs)
    for (start, end), g in zip(cells, reading.glyphs, strict=True):
        assert 0 <= start <= (g.start + g.end) / 2 <= end <= 1
    assert all(a[1] <= b[0] + 1e-9 for a, b in zip(cells, cells[1:], strict=False))


def test_a_cell_does_not_reach_into_a_wide_gap() -> None:
    glyphs, (length, _) = set_in_type("abcd|efgh", pitch=10, gap=100)
    cells = character_cells(glyphs)
    assert cells[4][0] - cells[3][1] > 80 / length


def test_words_stand_where_their_characters_do() -> None:
    glyphs, (length, height) = set_in_type("ab|cd|ef", pitch=10, gap=30)
    quad = rectangle(100, 50, 100 + length, 50 + height)
    spaced = with_spaces(glyphs, (length, height))
    words = words_of(spaced, quad)
    assert [w.text for w in words] == ["ab", "cd", "ef"]
    edges = [bounds(w.quad) for w in words]
    assert all(a[2] <= b[0] for a, b in zip(edges, edges[1:], strict=False))
    for word in words:
        x0, y0, x1, y1 = bounds(word.quad)
        assert (y0, y1) == (50, 50 + height)
        assert x0 == bounds(word.characters[0].quad)[0]
        assert x1 == bounds(word.characters[-1].quad)[2]


def test_characters_of_a_column_stand_one_under_the_other() -> None:
    column = turn(rectangle(10, 100, 40, 400), 1)
    reading = Reading(glyphs=tuple(glyph(c, (i + 0.5) / 4) for i, c in enumerate("一二三四")))
    line = build_line(reading, Region(quad=column, score=1.0), crop_height=30, source="edge")
    assert line is not None and line.angle == 90
    tops = [bounds(c.quad)[1] for c in line.words[0].characters]
    assert tops == sorted(tops) and tops[0] >= 100
    assert all(reading_angle(c.quad) == pytest.approx(90) for c in line.words[0].characters)
    assert all(quad_size(c.quad)[1] == pytest.approx(30) for c in line.words[0].characters)


def test_words_break_between_scripts() -> None:
    glyphs = [glyph(c, (i + 0.5) / 8) for i, c in enumerate("合计USD12元")]
    assert [w.text for w in words_of(glyphs, rectangle(0, 0, 8, 1))] == ["合计", "USD12", "元"]


@pytest.mark.parametrize(("char", "wide"), [("中", True), ("，", True), ("ｗ", True), ("w", False)])
def test_ideographic(char: str, wide: bool) -> None:
    assert is_ideographic(char) == wide


def test_signals_sum_up_the_visible_glyphs() -> None:
    reading = Reading(
        glyphs=(glyph("a", 0.2, 0.8), glyph(SPACE, 0.5, 0.1), glyph("b", 0.8, 0.4)), truncated=True
    )
    region = Region(quad=rectangle(0, 0, 100, 20), score=0.6)
    line = build_line(reading, region, crop_height=20.0, source="cloud")
    assert line is not None and line.truncated and line.source == "cloud"
    signals = line.signals
    assert signals is not None
    assert (signals.min_probability, signals.mean_probability) == pytest.approx((0.4, 0.6))
    assert (signals.margin, signals.entropy) == pytest.approx((0.2, 0.6))
    assert (signals.weak, signals.length) == (1, 2)
    assert (signals.crop_height, signals.detector_score) == (20, 0.6)


def test_an_empty_reading_is_no_line() -> None:
    region = Region(quad=rectangle(0, 0, 100, 20), score=0.6)
    assert build_line(EMPTY, region, crop_height=20, source="edge") is None
