from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.engines import FACTS, PaintedReader
from tests.fakes.networks import Answering, Broken
from tests.fakes.painted import LETTERS, paint
from tests.fakes.rendered import blank, line_crop, random_crops
from tierocr.shared.document import Floats, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.recognition import BatchRules, Reading, input_width, prepare

words = st.text(LETTERS, min_size=1, max_size=12)
WORDS = ("Invoice", "number", "total", "amount", "4711", "128.50", "EUR", "customer", "delivery")


def painted(max_batch: int = 8) -> tuple[Recogniser, PaintedReader]:
    network = PaintedReader()
    return Recogniser(network, FACTS, rules=BatchRules(max_batch=max_batch)), network


# The same line says the same, alone and in any company


@pytest.fixture(scope="module")
def crops() -> list[Pixels]:
    """Lines of every length, and a few so long that they are split."""
    long = [line_crop(" ".join(WORDS[i:] + WORDS), thick=2) for i in range(3)]
    return [*random_crops(205, seed=20), *long]


def values(reading: Reading) -> list[float]:
    return [v for g in reading.glyphs for v in (g.probability, g.margin, g.entropy, g.start, g.end)]


def shuffles(count: int, seeds: int) -> list[list[int]]:
    return [random.Random(seed).sample(range(count), count) for seed in range(seeds)]


def test_the_crops_fill_batches_of_many_widths(edge_reader: Reader, crops: list[Pixels]) -> None:
    facts = edge_reader.recogniser.facts
    widths = [input_width(prepare(c, facts).shape[1], facts) for c in crops]
    assert len(set(widths)) >= 12
    assert sum(widths.count(w) >= 8 for w in set(widths)) >= 8


def test_openvino_reads_each_line_bit_by_bit_the_same_in_any_batch(
    edge_reader: Reader, crops: list[Pixels]
) -> None:
    recogniser = edge_reader.recogniser
    assert recogniser.rules.max_batch == 8
    alone = [recogniser.read([crop])[0] for crop in crops]
    assert sum(bool(r.text) for r in alone) > 200
    for order in shuffles(len(crops), 2):
        size = 1 + order[0] % 60
        for start in range(0, len(order), size):
            some = order[start : start + size]
            for i, reading in zip(some, recogniser.read([crops[i] for i in some]), strict=True):
                assert reading == alone[i]


def test_onnx_runtime_reads_each_line_the_same_in_any_batch(
    onnx_reader: Reader, crops: list[Pixels]
) -> None:
    recogniser = onnx_reader.recogniser
    alone = [recogniser.read([crop])[0] for crop in crops]
    for order in shuffles(len(crops), 1):
        for i, reading in zip(order, recogniser.read([crops[i] for i in order]), strict=True):
            assert reading.text == alone[i].text
            assert values(reading) == pytest.approx(values(alone[i]), abs=1e-5)


@pytest.mark.parametrize("width", [64, 320, 640, 1280, 2048])
def test_every_batch_size_gives_the_same_numbers(edge_reader: Reader, width: int) -> None:
    engine = edge_reader.recogniser.engine
    noise = np.random.default_rng(width).integers(0, 256, (8, 48, width, 3), dtype=np.uint8)
    alone = [o.values[0].copy() for o in engine.run(noise[i : i + 1] for i in range(8))]
    for size in (2, 3, 5, 8):
        (together,) = engine.run([noise[:size]])
        assert all(np.array_equal(together.values[i], alone[i]) for i in range(size))


def test_both_runtimes_read_the_same(
    edge_reader: Reader, onnx_reader: Reader, crops: list[Pixels]
) -> None:
    clean = [line_crop(f"{WORDS[i % 9]} {1000 + 37 * i}") for i in range(20)]
    one, other = edge_reader.recogniser.read(clean), onnx_reader.recogniser.read(clean)
    assert [r.text for r in one] == [r.text for r in other]


# Order and batches


@settings(max_examples=40, deadline=None)
@given(st.lists(words, max_size=25), st.integers(1, 8))
def test_readings_come_in_the_order_of_the_crops(texts: list[str], max_batch: int) -> None:
    recogniser, network = painted(max_batch)
    assert [r.text for r in recogniser.read([paint(t) for t in texts])] == texts
    assert all(count <= max_batch for count, _ in network.batches)


def test_no_crop_no_call() -> None:
    recogniser, network = painted()
    assert recogniser.read([]) == []
    assert network.batches == []


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 300), (300, 1)])
def test_any_shape_of_crop_is_read(edge_reader: Reader, width: int, height: int) -> None:
    (reading,) = edge_reader.recogniser.read([blank(width, height)])
    assert all(0 <= g.start <= g.end <= 1 for g in reading.glyphs)


def test_a_failing_engine_is_told() -> None:
    with pytest.raises(TierocrError) as caught:
        Recogniser(Broken(), FACTS).read([paint("abc")])
    assert caught.value.code == "internal"


def test_a_network_with_another_charset_is_refused() -> None:
    def wrong(batch: Pixels) -> Floats:
        return np.eye(500, dtype=np.float32)[None].repeat(len(batch), axis=0)

    with pytest.raises(ValueError, match="class 499"):
        Recogniser(Answering(wrong), FACTS).read([paint("abc")])


# Lines longer than the network takes

long_texts = st.integers(90, 260).flatmap(lambda n: st.text(LETTERS, min_size=n, max_size=n))


@settings(max_examples=40, deadline=None)
@given(long_texts)
def test_a_long_line_is_split_and_stitched_without_loss(text: str) -> None:
    recogniser, network = painted()
    (reading,) = recogniser.read([paint(text)])
    assert reading.text == text
    assert sum(count for count, _ in network.batches) >= 2


def test_pieces_are_no_longer_than_the_network_takes() -> None:
    recogniser, network = painted()
    for letters in range(80, 330):
        recogniser.read([paint("q" * letters)])
    assert max(width for _, width in network.batches) <= FACTS.max_width


@settings(max_examples=20, deadline=None)
@given(long_texts)
def test_stitched_glyphs_stand_where_they_are_in_the_whole_line(text: str) -> None:
    recogniser, _ = painted()
    crop = paint(text)
    (reading,) = recogniser.read([crop])
    assert len(reading.glyphs) == len(text)
    for i, glyph in enumerate(reading.glyphs):
        middle = (8 + 24 * i + 8) / crop.shape[1]  # see `paint`
        assert (glyph.start + glyph.end) / 2 == pytest.approx(middle, abs=8 / crop.shape[1])


def test_a_long_line_among_short_ones_keeps_its_place() -> None:
    recogniser, _ = painted()
    texts = ["ab", "q" * 120, "c", "xy" * 90, "de"]
    assert [r.text for r in recogniser.read([paint(t) for t in texts])] == texts


@pytest.mark.parametrize("seed", range(8))
def test_a_very_long_printed_line_is_read_whole(edge_reader: Reader, seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join(rng.choice(WORDS) for _ in range(25 + 5 * seed))
    crop = line_crop(text, scale=1.5, thick=2)
    assert crop.shape[1] * 48 / crop.shape[0] > 2048
    (reading,) = edge_reader.recogniser.read([crop])
    assert reading.text.replace(" ", "") == text.replace(" ", "")
    assert reading.text.split() == text.split()
    starts = [g.start for g in reading.glyphs]
    assert starts == sorted(starts)


@pytest.mark.parametrize("offset", range(0, 24, 3))
def test_narrow_letters_at_a_cut_are_neither_lost_nor_doubled(
    edge_reader: Reader, offset: int
) -> None:
    text = "1234567890" * 16
    crop = line_crop(text, scale=1.5, thick=2)
    shifted = np.pad(crop, ((0, 0), (3 * offset, 0), (0, 0)), constant_values=255)
    (reading,) = edge_reader.recogniser.read([shifted])
    assert reading.text == text
