"""Both ends of a network, seen through the engine that adds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tierocr.shared.document import Pixels
from tierocr.shared.engines import EngineOptions, NetworkFacts, open_engine
from tierocr.shared.engines.openvino import layer_seconds

FACTS = NetworkFacts(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
FEATURES, CLASSES = 6, 150  # not a whole number of groups
ONE_THREAD = EngineOptions(threads=1)


def pixels(seed: int, count: int, width: int) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (count, 2, width, 3), dtype=np.uint8)


def network(folder: Path, head: str) -> Path:
    """A network whose columns are its pixel columns, with a linear head in one of its forms."""
    random = np.random.default_rng(7)
    x = ops.parameter([-1, 3, 2, -1], np.float32, "x")
    columns = ops.transpose(x, ops.constant(np.array([0, 3, 1, 2])))  # N, T, 3, 2
    features = ops.reshape(columns, ops.constant(np.array([0, 0, FEATURES])), special_zero=True)
    weights = random.normal(0, 2, (FEATURES, CLASSES)).astype(np.float32)
    bias = ops.constant(random.normal(0, 1, (1, 1, CLASSES)).astype(np.float32))
    if head == "plain":
        scores = ops.add(ops.matmul(features, weights, False, False), bias)
    elif head == "turned, bias first":
        scores = ops.add(bias, ops.matmul(features, weights.T.copy(), False, True))
    elif head == "levels":
        scale = np.abs(weights).max(0)[:, None] / 127
        levels = ops.convert(ops.constant(np.round(weights.T / scale).astype(np.int8)), "f32")
        shifted = ops.subtract(levels, ops.constant(np.float32(1)))
        scores = ops.add(ops.matmul(features, ops.multiply(shifted, scale), False, True), bias)
    elif head == "one bias for all":
        scores = ops.add(ops.matmul(features, weights, False, False), np.float32(0.5))
    elif head == "no bias":
        scores = ops.matmul(features, weights, False, False)
    elif head == "weights from the input":
        total = ops.reduce_sum(features, ops.constant(np.array([0, 1, 2])))
        varied = ops.add(weights, ops.multiply(ops.constant(np.float32(1e-3)), total))
        scores = ops.add(ops.matmul(features, varied, False, False), bias)
    else:
        raise ValueError(head)
    file = folder / "head.xml"
    ov.save_model(ov.Model([ops.softmax(scores, 2)], [x], "head"), file, compress_to_fp16=False)
    return file


HEADS = [
    *("plain", "turned, bias first", "levels"),
    *("one bias for all", "no bias", "weights from the input"),
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("columns", [1, 3, 8])
def test_the_best_classes_are_the_softmax_s_whatever_makes_its_scores(
    head: str, columns: int, tmp_path: Path
) -> None:
    file = network(tmp_path, head)
    whole = open_engine("openvino", file, FACTS, ONE_THREAD)
    wanted = replace(FACTS, best=2, columns=columns)
    best = open_engine("openvino", file, wanted, ONE_THREAD)
    for count, width in ((1, 24), (3, 48), (2, 24)):
        batch = pixels(count, count, width)
        (probabilities,) = [o.values.copy() for o in whole.run([batch])]
        (found,) = best.run([batch])
        assert found.classes is not None
        order = np.argsort(probabilities, axis=-1)[..., :-3:-1]
        assert np.array_equal(found.classes, order)
        top = np.take_along_axis(probabilities, order, axis=-1)
        assert found.values == pytest.approx(top, abs=1e-6)


def test_columns_are_taken_in_parts_where_they_come_in_multiples(tmp_path: Path) -> None:
    file = network(tmp_path, "plain")
    batch = pixels(1, 2, 48)

    def kinds(columns: int) -> set[str]:
        facts = replace(FACTS, best=2, columns=columns)
        return {k.split()[0] for k in layer_seconds(file, facts, ONE_THREAD, batch, runs=1)}

    assert "Pad" not in kinds(1) | kinds(8)
    assert "Split" in kinds(8) and "Split" not in kinds(1)
