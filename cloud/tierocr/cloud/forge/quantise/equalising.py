"""Channels brought to one range before they share a rounding step, in place.

A step fits the widest channel; the others then use few of its levels. Dividing each channel and
multiplying the weights that read it changes nothing in FP32 (Xiao et al., "SmoothQuant", ICML 2023,
eq. 3 and 4). The division costs no time: the runtime makes it part of the rounding step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import openvino as ov
from openvino import opset13

from tierocr.cloud.forge.quantise.probing import find, in_groups, inputs_of
from tierocr.shared.document import Floats

ENDING = "/equalised"
"""Ends the name of the division before a layer."""

_MOST = 32.0  # a channel's largest factor: silent channels stay silent
_LEAST = 1e-5


def equalise(
    network: ov.Model, layers: Sequence[str], tensors: Sequence[Floats], strength: float
) -> None:
    """Equalise the input channels of each layer. `strength` 0..1: 0 suits the weights, 1 the
    activations.
    """
    for group in in_groups(layers):
        axes = [_channels(find(network, name)) for name in group]
        seen = [
            [_peaks(given, axis) for given, axis in zip(inputs, axes, strict=True)]
            for inputs in inputs_of(network, group, tensors)
        ]
        for name, axis, peaks in zip(group, axes, zip(*seen, strict=True), strict=True):
            layer = find(network, name)
            weights = np.asarray(layer.input_value(1).get_node().get_data())
            factor = _factor(np.mean(peaks, axis=0), weights, strength)
            _insert(layer, axis, factor, weights)
    network.validate_nodes_and_infer_types()


def _factor(peaks: Floats, weights: Floats, strength: float) -> Floats:
    """What each channel is divided by."""
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
