"""Which layers of a quantised network hurt most: each in turn is given back its own weights.

A layer's share is how much nearer the network's answers come to those of FP32 when that layer
alone computes in floating point again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13
from openvino.passes import ConstantFolding, Manager

from tierocr.cloud.forge.quantise.equalising import ENDING
from tierocr.cloud.forge.quantise.levels import WITHOUT_BIAS
from tierocr.cloud.forge.quantise.probing import answering, find, weighted_layers
from tierocr.cloud.forge.quantise.qdq import STEPS
from tierocr.cloud.forge.quantise.rounding import addition_of, constant_input
from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError

_ROUNDING = ("FakeQuantize", "Convert", "Subtract", "Multiply")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurt:
    """One layer. `distance`: mean absolute difference to FP32 once the layer is floating point
    again; `share`: the part of the whole distance that this takes away, below 0 if it adds some.
    """

    layer: str
    distance: float
    share: float


def rank(
    quantised: ov.Model,
    original: ov.Model,
    tensors: Sequence[Floats],
    tick: Callable[[], None] = lambda: None,
) -> list[Hurt]:
    """Every layer with weights, the most harmful first. `original`: the FP32 network, made by
    `to_openvino`; `tick` is called after each layer.

    Raises TierocrError `model_invalid` when the two networks have no layers in common.
    """
    names = [n for n in weighted_layers(original) if n in set(weighted_layers(quantised))]
    if not names:
        raise TierocrError("model_invalid", "no layer of the artefact has a name that FP32 has")
    quantised = _folded(quantised)
    reference = _answers(original, tensors)
    whole = _distance(_answers(quantised, tensors), reference)
    ranked = []
    for name in names:
        distance = _distance(_answers(_refloated(quantised, original, name), tensors), reference)
        share = (whole - distance) / whole if whole else 0.0
        ranked.append(Hurt(layer=name, distance=distance, share=share))
        tick()
    return sorted(ranked, key=lambda hurt: hurt.distance)


def _folded(network: ov.Model) -> ov.Model:
    """A copy in which constants that are worked out from constants are constants."""
    copy = network.clone()
    passes = Manager()
    passes.register_pass(ConstantFolding())
    passes.run_passes(copy)
    return copy


def _refloated(quantised: ov.Model, original: ov.Model, name: str) -> ov.Model:
    """A copy whose layer `name` takes unrounded input and has FP32's weights and bias."""
    network = quantised.clone()
    layer, source = find(network, name), find(original, name)
    weights = _constant(source.input_value(1))
    if _turned(layer) != _turned(source):
        weights = weights.T
    _give(layer, 1, weights)
    before = _before_rounding(layer)
    if before is not None:
        kind = layer.get_input_element_type(1)  # FP16 for TensorRT 10
        same = before.get_element_type() == kind
        given = before if same else opset13.convert(before, kind).output(0)
        layer.input(0).replace_source_output(given)
    _restore_bias(layer, source)
    network.validate_nodes_and_infer_types()
    return network


def _restore_bias(layer: ov.Node, source: ov.Node) -> None:
    addition, first = addition_of(layer), addition_of(source)
    if addition is None:
        return
    index = constant_input(addition)
    shape = _constant(addition.input_value(index)).shape
    bias = np.zeros(shape, dtype=np.float32)
    if first is not None:
        bias = _constant(first.input_value(constant_input(first))).reshape(shape)
    _give(addition, index, bias)


def _turned(layer: ov.Node) -> bool:
    """Whether the weights are (outputs, inputs) in a product; ONNX has them the other way."""
    return bool(layer.get_attributes().get("transpose_b", False))


def _before_rounding(layer: ov.Node) -> ov.Output | None:
    """What a layer would be given without rounding and what belongs to it, None when it is not
    rounded.
    """
    value = layer.input_value(0)
    while value.get_node().get_type_name() in _ROUNDING:
        node = value.get_node()
        value = node.input_value(0)
        if node.get_type_name() == "FakeQuantize":
            return _before_steps(value, layer.get_friendly_name())
    return None


def _before_steps(value: ov.Output, layer: str) -> ov.Output:
    """Before the equalising and the shift of a layer's input."""
    steps = {layer + ENDING, *(layer.removesuffix(WITHOUT_BIAS) + end for end in STEPS)}
    node = value.get_node()
    while node.get_friendly_name() in steps or node.get_type_name() == "Convert":
        value = node.input_value(0)
        node = value.get_node()
    return value


def _constant(value: ov.Output) -> Any:
    return np.asarray(value.get_node().get_data())


def _give(node: ov.Node, index: int, values: Any) -> None:
    """Put a constant, in the type that is there, in the place of an input."""
    kind = node.get_input_element_type(index).to_dtype()
    constant = ov.op.Constant(np.ascontiguousarray(values.astype(kind)))
    node.input(index).replace_source_output(constant.output(0))


def _answers(network: ov.Model, tensors: Sequence[Floats]) -> list[Floats]:
    answer = answering(network)
    return [answer(tensor)[0] for tensor in tensors]


def _distance(answers: Sequence[Floats], reference: Sequence[Floats]) -> float:
    pairs = zip(answers, reference, strict=True)
    return float(np.mean([np.abs(a - b).mean(dtype=np.float64) for a, b in pairs]))
