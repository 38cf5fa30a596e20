from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("nncf", reason="needs the extra quantise")

import openvino as ov
from openvino import opset13

from tierocr.cloud.forge.quantise.clipping import about_zero, narrowed
from tierocr.cloud.forge.quantise.equalising import chosen, equalise
from tierocr.cloud.forge.quantise.probing import Doubles, as_rows, find
from tierocr.cloud.forge.quantise.rounding import compensated
from tierocr.shared.document import Floats

RANDOM = np.random.default_rng(11)


def answer(network: ov.Model, x: Floats) -> Floats:
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    result: Floats = ov.Core().compile_model(network, "CPU", config)([x])[0].copy()
    return result


def convolution(channels: int, window: int, stride: int) -> ov.Model:
    """x (1, channels, ?, ?) -> a convolution of three outputs, called "layer"."""
    x = opset13.parameter([1, channels, -1, -1], np.float32, name="x")
    weights = RANDOM.normal(size=(3, channels, window, window)).astype(np.float32)
    pads = [window // 2] * 2
    layer = opset13.convolution(x, weights, [stride] * 2, pads, pads, [1, 1])
    layer.set_friendly_name("layer")
    return ov.Model([layer], [x], "test")


def test_weights_make_up_for_each_other() -> None:
    together = RANDOM.normal(size=(4000, 3)) @ RANDOM.normal(size=(3, 16))
    inputs = together + 0.1 * RANDOM.normal(size=(4000, 16))
    weights = RANDOM.normal(size=(8, 16))
    steps = np.abs(weights).max(axis=1) / 7
    nearest = np.clip(np.round(weights / steps[:, None]), -7, 7)
    chosen = compensated(weights, np.cov(inputs.T).astype(np.float64), steps, 7)
    assert np.abs(chosen).max() <= 7 and np.array_equal(chosen, np.round(chosen))

    def error(whole: Doubles) -> float:
        return float(((inputs @ (weights - whole * steps[:, None]).T) ** 2).mean())

    assert error(chosen) < 0.5 * error(nearest)


def test_weights_that_are_levels_already_stay() -> None:
    whole = RANDOM.integers(-7, 8, size=(4, 6)).astype(np.float64)
    assert np.array_equal(compensated(whole * 0.5, np.eye(6), np.full(4, 0.5), 7), whole)


@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (3, 2)])
def test_rows_are_what_one_output_sees(window: int, stride: int) -> None:
    network = convolution(4, window, stride)
    x = RANDOM.normal(size=(1, 4, 6, 10)).astype(np.float32)
    layer = find(network, "layer")
    weights = layer.input_value(1).get_node().get_data().reshape(3, -1)
    expected = answer(network, x)[0].reshape(3, -1).T
    np.testing.assert_allclose(as_rows(layer, x) @ weights.T, expected, atol=1e-4)


def test_equalised_channels_leave_the_answer_alone() -> None:
    network = convolution(4, 3, 1)
    scale = np.array([0.01, 1, 5, 80], dtype=np.float32).reshape(1, 4, 1, 1)
    tensors = [RANDOM.normal(size=(1, 4, 6, 10)).astype(np.float32) * scale for _ in range(3)]
    expected = answer(network, tensors[0])
    equalise(network, ["layer"], tensors)
    np.testing.assert_allclose(answer(network, tensors[0]), expected, rtol=1e-4, atol=1e-4)
    divided = find(network, "layer").input_value(0).get_node()
    factors = divided.input_value(1).get_node().get_data() * scale
    assert factors.max() / factors.min() < 80 / 0.01


def test_channels_are_equalised_as_far_as_it_helps() -> None:
    narrow = np.ones((3, 2), dtype=np.float32)
    rows = RANDOM.normal(size=(500, 2))
    peaks = np.abs(rows).max(axis=0).astype(np.float32)
    even = chosen(peaks, narrow, rows)
    assert even[0] / even[1] == pytest.approx(1.0, rel=0.5)
    wide = rows * (1, 100)  # and the weights make up for it: both channels count
    weights = narrow * np.array([1, 0.01], dtype=np.float32)
    factor = chosen(np.abs(wide).max(axis=0).astype(np.float32), weights, wide)
    assert factor[1] > 10 * factor[0]


def test_a_range_is_narrowed_for_rare_values_only() -> None:
    values = -2 + (np.arange(1000) + 0.5) * 12 / 1000
    rare = np.where(np.abs(values) < 1, 1000.0, 0.0) + (values > 9.9) * 1e-4
    low, high = narrowed((-2, 10), rare, 255)
    assert high < 4 and low <= -0.9
    low, high = narrowed((-2, 10), np.ones_like(values), 255)
    assert high > 9 and low < -1.7
    assert low / ((high - low) / 255) == pytest.approx(round(low / ((high - low) / 255)), abs=1e-6)


def test_a_range_about_zero_stays_about_zero() -> None:
    values = np.linspace(-1, 1, 1000)
    counts = np.where(np.abs(values) < 0.3, 1000.0, 1e-4)
    low, high = narrowed(about_zero(1.0), counts, 255, symmetric=True)
    assert high < 0.5 and low == pytest.approx(-128 / 127 * high)
