from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.rendered import blank
from tierocr.shared.document import Floats
from tierocr.shared.engines import NetworkFacts
from tierocr.shared.engines.arrays import best_of, normalise
from tierocr.shared.recognition import (
    EMPTY,
    BatchRules,
    Glyph,
    Reading,
    RecogniserFacts,
    batches,
    input_width,
    prepare,
    to_batch,
)
from tierocr.shared.recognition import (
    decode as decode_best,
)

FACTS = RecogniserFacts(charset=("a", "b", "c", " "), end_padding=8)


def columns(text: str, sure: float = 0.9) -> Floats:
    """A network's answer of one column for each character; "_" is the blank."""
    answer = np.full((len(text), 5), (1 - sure) / 4, dtype=np.float32)
    for column, char in enumerate(text):
        answer[column, 0 if char == "_" else 1 + FACTS.charset.index(char)] = sure
    return answer


def decode(answer: Floats, content_width: int, width: int) -> Reading:
    """The reading of (T, C) probabilities, by way of the two best classes of each column."""
    best = best_of(answer, 2)
    assert best.classes is not None
    return decode_best(best.values, best.classes, content_width, width, FACTS)


def read(text: str) -> Reading:
    return decode(columns(text), 8 * len(text), 8 * len(text))


# Widths and batches


@given(st.integers(1, 2048))
def test_input_widths_are_buckets_and_never_smaller_than_the_content(width: int) -> None:
    bucket = input_width(width, FACTS)
    assert bucket >= max(width, FACTS.min_width)
    assert bucket % FACTS.bucket == 0
    assert bucket - width < 4 * FACTS.bucket
    assert input_width(bucket, FACTS) == bucket


@given(st.integers(1, 4000), st.integers(1, 4000))
def test_input_widths_grow_with_the_content(a: int, b: int) -> None:
    a, b = sorted((a, b))
    assert input_width(a, FACTS) <= input_width(b, FACTS)


def test_there_are_few_input_widths() -> None:
    assert len({input_width(w, FACTS) for w in range(1, FACTS.max_width + 1)}) <= 20


@given(st.lists(st.sampled_from([64, 128, 192, 1280]), max_size=60), st.integers(1, 9))
def test_batches_hold_every_crop_once_and_equal_widths_only(widths: list[int], most: int) -> None:
    groups = list(batches(widths, BatchRules(max_batch=most)))
    assert sorted(i for group in groups for i in group) == list(range(len(widths)))
    assert all(1 <= len(group) <= most for group in groups)
    assert all(len({widths[i] for i in group}) == 1 for group in groups)
    taken = [widths[group[0]] for group in groups]
    assert taken == sorted(taken)
    assert all(len(g) == 1 or len(g) * widths[g[0]] <= BatchRules().max_columns for g in groups)


@pytest.mark.parametrize(
    ("count", "width", "most", "sizes"),
    [
        (8, 64, 8, [8]),
        (15, 64, 8, [8, 4, 2, 1]),
        (13, 64, 5, [4, 4, 4, 1]),
        (7, 320, 8, [2, 2, 2, 1]),
        (3, 2048, 8, [1, 1, 1]),
    ],
)
def test_batches_are_powers_of_two(count: int, width: int, most: int, sizes: list[int]) -> None:
    assert [len(group) for group in batches([width] * count, BatchRules(max_batch=most))] == sizes


def test_a_device_that_takes_any_size_gets_whole_batches() -> None:
    rules = BatchRules(max_batch=8, max_columns=16_384, few_sizes=False)
    assert [len(group) for group in batches([640] * 15, rules)] == [8, 7]


@given(st.lists(st.integers(1, 2048), max_size=200))
def test_a_runtime_meets_few_shapes(contents: list[int]) -> None:
    widths = [input_width(content, FACTS) for content in contents]
    shapes = {(len(group), widths[group[0]]) for group in batches(widths, BatchRules())}
    assert len(shapes) <= 28


# Network inputs


@given(st.integers(1, 120), st.integers(1, 400))
def test_prepared_crops_have_the_height_and_both_paddings(height: int, width: int) -> None:
    crop = blank(width, height)
    crop[:, 0], crop[:, -1] = 10, 200
    prepared = prepare(crop, FACTS)
    scaled = max(1, round(width * FACTS.height / height))
    assert prepared.shape == (FACTS.height, scaled + 2 * FACTS.end_padding, 3)
    inner = prepared[:, FACTS.end_padding : -FACTS.end_padding]
    assert (prepared[:, : FACTS.end_padding] == inner[:, :1]).all()
    assert (prepared[:, -FACTS.end_padding :] == inner[:, -1:]).all()


def test_beyond_each_crop_stands_what_the_network_sees_as_zero() -> None:
    crops = [np.full((48, w, 3), 255, dtype=np.uint8) for w in (10, 64, 33)]
    batch = to_batch(crops, 64, FACTS)
    assert batch.shape == (3, 48, 64, 3) and batch.dtype == np.uint8
    grey = NetworkFacts(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    for row, crop in zip(normalise(batch, grey), crops, strict=True):
        assert (row[:, :, : crop.shape[1]] == 1).all()
        assert (abs(row[:, :, crop.shape[1] :]) < 1 / 250).all()


def test_a_row_does_not_depend_on_the_others() -> None:
    crops = list(np.random.default_rng(1).integers(0, 256, (5, 48, 50, 3), dtype=np.uint8))
    together = to_batch(crops, 64, FACTS)
    assert all(
        np.array_equal(to_batch([c], 64, FACTS)[0], t) for c, t in zip(crops, together, strict=True)
    )


# Decoding


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("____", ""),
        ("abc", "abc"),
        ("_aa_b__ccc_", "abc"),
        ("aabb", "ab"),
        ("a_a", "aa"),
        ("aa_aa__a", "aaa"),
        ("ab ba", "ab ba"),
        ("a _b", "a b"),
        ("a", "a"),
    ],
)
def test_best_path(answer: str, text: str) -> None:
    reading = read(answer)
    assert reading.text == text
    assert not reading.truncated


@given(st.text("abc _", min_size=1, max_size=40))
def test_best_path_is_runs_without_blanks(answer: str) -> None:
    assert read(answer).text == "".join(c for c, _ in groupby(answer) if c != "_")


@given(st.text("abc _", min_size=1, max_size=40))
def test_glyphs_stand_one_after_the_other_inside_the_crop(answer: str) -> None:
    glyphs = read(answer).glyphs
    assert all(0 <= g.start <= g.end <= 1 for g in glyphs)
    assert all(a.end <= b.start + 1e-9 for a, b in zip(glyphs, glyphs[1:], strict=False))


def test_positions_refer_to_the_crop_without_its_paddings() -> None:
    # 10 columns of 8 pixels; content 66 = 8 padding + 50 crop + 8 padding
    (glyph,) = decode(columns("___aa_____"), 66, 80).glyphs
    assert (glyph.start, glyph.end) == pytest.approx(((24 - 8) / 50, (40 - 8) / 50))
    (first,) = decode(columns("a_________"), 66, 80).glyphs
    assert (first.start, first.end) == (0, 0)  # in the padding
    (last,) = decode(columns("_________a"), 66, 80).glyphs
    assert (last.start, last.end) == (1, 1)


def test_signals_are_those_of_the_strongest_column() -> None:
    answer = columns("_aaa_")
    answer[1] = [0.1, 0.6, 0.3, 0.0, 0.0]
    answer[2] = [0.0, 0.7, 0.1, 0.1, 0.1]
    answer[3] = [0.4, 0.5, 0.1, 0.0, 0.0]
    (glyph,) = decode(answer, 40, 40).glyphs
    assert glyph.probability == pytest.approx(0.7)
    assert glyph.margin == pytest.approx(0.6)
    others = -0.7 * math.log(0.7) - 0.1 * math.log(0.1) - 0.2 * math.log(0.2)
    assert glyph.entropy == pytest.approx(others, abs=1e-5)


def test_a_certain_column_has_full_margin_and_no_entropy() -> None:
    (glyph,) = decode(columns("b", sure=1.0), 24, 64).glyphs
    assert glyph == Glyph(text="b", start=0.0, end=1.0, probability=1, margin=1, entropy=0)


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_signals_stay_in_range(seed: int, count: int) -> None:
    raw = np.random.default_rng(seed).random((count, 5), dtype=np.float32) ** 4 + 1e-7
    answer = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
    for glyph in decode(answer, 8 * count, 8 * count).glyphs:
        assert 0 < glyph.probability <= 1
        assert 0 <= glyph.margin <= glyph.probability
        assert 0 <= glyph.entropy <= math.log(3) + 1e-5


def test_a_class_that_the_charset_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="class 5 for a charset of 4"):
        decode(np.eye(6, dtype=np.float32), 24, 64)


def test_the_mean_probability_leaves_spaces_out() -> None:
    answer = columns("a b")
    answer[1] = [0.0, 0.0, 0.0, 0.5, 0.5]
    answer[1, 4] = 0.51
    assert decode(answer, 64, 64).mean_probability == pytest.approx(0.9)
    assert EMPTY.mean_probability == 0
    assert read(" ").mean_probability == 0
