"""Looking into an OpenVINO network: its layers by name, and what flows into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import openvino as ov
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from openvino import opset13

from tierocr.shared.document import Floats

Doubles = NDArray[np.float64]

MOST_ROWS = 8192
"""Samples that one tensor gives to a layer's statistics, about."""

_GROUP = 8
_MOVES_ONLY = ("Transpose", "Reshape", "Squeeze", "Unsqueeze")

WEIGHTED = ("Convolution", "GroupConvolution", "ConvolutionBackpropData", "MatMul")


@cache
def _core() -> ov.Core:
    return ov.Core()


def find(network: ov.Model, name: str) -> ov.Node:
    """The operation of that name. Raises StopIteration when there is none."""
    return next(op for op in network.get_ops() if op.get_friendly_name() == name)


def weighted_layers(network: ov.Model) -> list[str]:
    """The names of the layers that have weights, in order."""
    ordered = network.get_ordered_ops()
    return [op.get_friendly_name() for op in ordered if op.get_type_name() in WEIGHTED]


def sees_one_pixel(convolution: ov.Node) -> bool:
    """Whether a convolution stands behind a global mean, as in squeeze and excitation."""
    shape = convolution.input(0).get_partial_shape()
    if shape.rank.get_length() != 4:
        return False
    return all(shape[axis].is_static and shape[axis] == 1 for axis in (2, 3))


def pads(network: ov.Model, name: str) -> bool:
    """Whether a layer puts zeros around its input."""
    attributes = find(network, name).get_attributes()
    return any([*attributes.get("pads_begin", ()), *attributes.get("pads_end", ())])


def rounding_before(layer: ov.Node) -> ov.Node:
    """The rounding step of a layer's input. Raises ValueError when it has none."""
    node = layer.input_value(0).get_node()
    while node.get_type_name() in _MOVES_ONLY:
        node = node.input_value(0).get_node()
    if node.get_type_name() != "FakeQuantize":
        raise ValueError(f"{layer.get_friendly_name()} is given unrounded values")
    return node


def inputs_of(
    network: ov.Model, names: Sequence[str], tensors: Sequence[Floats]
) -> Iterator[list[Floats]]:
    """What each of some layers is given, for each tensor that the network is given."""
    copy = network.clone()
    wanted = [opset13.result(find(copy, name).input_value(0)) for name in names]
    answer = answering(ov.Model(wanted, copy.get_parameters(), "part"))
    for tensor in tensors:
        yield answer(tensor)


def answering(network: ov.Model) -> Callable[[Floats], list[Floats]]:
    """What gives a network's outputs for its one input, computed in float32 where not rounded."""
    config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    request = _core().compile_model(network, "CPU", config).create_infer_request()

    def answer(tensor: Floats) -> list[Floats]:
        return [output.copy() for output in request.infer([tensor]).values()]

    return answer


def in_groups(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """So many layers at a time that what they are all given fits into memory."""
    for first in range(0, len(names), _GROUP):
        yield names[first : first + _GROUP]


def as_rows(layer: ov.Node, given: Floats) -> Doubles:
    """A layer's input as (samples, inputs of one output): patches of a convolution, rows of a
    product. Evenly chosen ones where there are more than `MOST_ROWS`.
    """
    rows = _rows(layer, given)
    return rows[:: max(1, len(rows) // MOST_ROWS)].astype(np.float64)


def _rows(layer: ov.Node, given: Floats) -> Floats:
    weights = layer.input(1).get_partial_shape()
    if layer.get_type_name() == "MatMul":
        turned = given.swapaxes(-1, -2) if layer.get_attributes()["transpose_a"] else given
        return turned.reshape(-1, turned.shape[-1])
    attributes = layer.get_attributes()
    begin, end = attributes["pads_begin"], attributes["pads_end"]
    padded = np.pad(given, ((0, 0), (0, 0), (begin[0], end[0]), (begin[1], end[1])))
    window = (weights[2].get_length(), weights[3].get_length())
    down, across = attributes["strides"]
    # older numpy's types know one axis only
    view: Any = sliding_window_view
    patches = view(padded, window, axis=(2, 3))[:, :, ::down, ::across]
    inputs = padded.shape[1] * window[0] * window[1]
    rows: Floats = patches.transpose(0, 2, 3, 1, 4, 5).reshape(-1, inputs)
    return rows
