"""Channels brought to one range before they share a rounding step, in place.

A step fits the widest channel; the others then use few of its levels. Dividing each channel and
multiplying the weights that read it changes nothing in FP32 (Xiao et al., "SmoothQuant", ICML 2023,
eq. 3 and 4). How far is chosen for each layer by what its answers lose when inputs and weights are
rounded (as Lin et al., "AWQ", MLSys 2024, 3.2, do for weights). The division costs no time: the
runtime makes it part of the rounding step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import openvino as ov
from openvino import opset13

from tierocr.cloud.forge.quantise.probing import Doubles, as_rows, find, in_groups, inputs_of
from tierocr.shared.document import Floats

ENDING = "/equalised"
"""Ends the name of the division before a layer."""

STRENGTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""0 suits the weights, 1 the activations."""

_MOST = 32.0  # a channel's largest factor: silent channels stay silent
_LEAST = 1e-5
_ROWS = 300  # of each tensor, to choose by
_INPUT_LEVELS, _WEIGHT_LEVELS = 255, 63  # 8 bits; 7 bits with a sign, as `overflow_fix` leaves


def equalise(network: ov.Model, layers: Sequence[str], tensors: Sequence[Floats]) -> None:
    """Equalise the input channels of each layer."""
    for group in in_groups(layers):
        places = [find(network, name) for name in group]
        peaks: list[list[Floats]] = [[] for _ in group]
        rows: list[list[Doubles]] = [[] for _ in group]
        for inputs in inputs_of(network, group, tensors):
            for i, (layer, given) in enumerate(zip(places, inputs, strict=True)):
                peaks[i].append(_peaks(given, _channels(layer)))
                seen = as_rows(layer, given)
                rows[i].append(seen[:: max(1, len(seen) // _ROWS)])
        for layer, highest, seen_rows in zip(places, peaks, rows, strict=True):
            weights = np.asarray(layer.input_value(1).get_node().get_data())
            factor = chosen(np.mean(highest, axis=0), weights, np.concatenate(seen_rows))
            _insert(layer, _channels(layer), factor, weights)
    network.validate_nodes_and_infer_types()


def chosen(peaks: Floats, weights: Floats, rows: Doubles) -> Floats:
    """What each channel is divided by: the factors that lose least on these rows."""
    flat = weights.reshape(len(weights), -1).astype(np.float64)
    exact = rows @ flat.T
    within = flat.shape[1] // len(peaks)  # a channel's inputs lie side by side

    def loss(factor: Floats) -> float:
        every = np.repeat(factor, within)
        answers = _rounded_rows(rows / every) @ _rounded_weights(flat * every).T
        return float(np.square(answers - exact).mean())

    return min((_factor(peaks, weights, strength) for strength in STRENGTHS), key=loss)


def _rounded_rows(rows: Doubles) -> Doubles:
    low, high = min(0.0, float(rows.min())), max(0.0, float(rows.max()))
    step = max(high - low, _LEAST) / _INPUT_LEVELS
    rounded: Doubles = np.round(rows / step) * step
    return rounded


def _rounded_weights(weights: Doubles) -> Doubles:
    steps = np.maximum(np.abs(weights).max(axis=1, keepdims=True), _LEAST) / _WEIGHT_LEVELS
    rounded: Doubles = np.round(weights / steps) * steps
    return rounded


def _factor(peaks: Floats, weights: Floats, strength: float) -> Floats:
    """What each channel is divided by, for one strength."""
    rest = tuple(a for a in range(weights.ndim) if a != 1)
    steep = np.maximum(np.abs(weights).max(axis=rest), _LEAST)
    factor = np.maximum(peaks, _LEAST) ** strength / steep ** (1 - strength)
    factor /= np.exp(np.log(factor).mean())
    clipped: Floats = np.clip(factor, 1 / _MOST, _MOST).astype(np.float32)
    return clipped


def _insert(layer: ov.Node, axis: int, factor: Floats, weights: Floats) -> None:
    rank = layer.input(0).get_partial_shape().rank.get_length()
    shape = [factor.size if a == axis else 1 for a in range(rank)]
    divide = opset13.multiply(
        layer.input_value(0), opset13.constant((1 / factor).reshape(shape).astype(np.float32))
    )
    divide.set_friendly_name(layer.get_friendly_name() + ENDING)
    layer.input(0).replace_source_output(divide.output(0))
    scaled = weights * factor.reshape(1, -1, *[1] * (weights.ndim - 2))
    constant = opset13.constant(np.ascontiguousarray(scaled, dtype=np.float32))
    layer.input(1).replace_source_output(constant.output(0))


def _channels(layer: ov.Node) -> int:
    """The axis of the input on which the channels lie."""
    if layer.get_type_name() != "MatMul":
        return 1
    rank: int = layer.input(0).get_partial_shape().rank.get_length()
    return rank - 2 if layer.get_attributes()["transpose_a"] else rank - 1


def _peaks(given: Floats, axis: int) -> Floats:
    rest = tuple(a for a in range(given.ndim) if a != axis)
    peaks: Floats = np.abs(given).max(axis=rest)
    return peaks
