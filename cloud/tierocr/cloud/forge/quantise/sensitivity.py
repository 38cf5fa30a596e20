"""Which layers of a quantised network hurt most: each in turn is given back its own weights.

A layer's share is how much nearer the network's answers come to those of FP32 when that layer
alone computes in floating point again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import openvino as ov

from tierocr.cloud.forge.quantise.equalising import ENDING
from tierocr.cloud.forge.quantise.probing import answering, find, weighted_layers
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
    reference = _answers(original, tensors)
    whole = _distance(_answers(quantised, tensors), reference)
    ranked = []
    for name in names:
        distance = _distance(_answers(_refloated(quantised, original, name), tensors), reference)
        share = (whole - distance) / whole if whole else 0.0
        ranked.append(Hurt(layer=name, distance=distance, share=share))
        tick()
    return sorted(ranked, key=lambda hurt: hurt.distance)


def _refloated(quantised: ov.Model, original: ov.Model, name: str) -> ov.Model:
    """A copy whose layer `name` takes unrounded input and FP32's weights."""
    network = quantised.clone()
    layer, source = find(network, name), find(original, name)
    weights = source.input_value(1).get_node().get_data()
    constant = ov.op.Constant(np.ascontiguousarray(weights))
    layer.input(1).replace_source_output(constant.output(0))
    before = _before_rounding(layer.input_value(0))
    if before is not None:
        layer.input(0).replace_source_output(before)
    network.validate_nodes_and_infer_types()
    return network


def _before_rounding(value: ov.Output) -> ov.Output | None:
    """What a rounding step rounds, None when there is no such step."""
    node = value.get_node()
    while node.get_type_name() in _ROUNDING:
        if node.get_type_name() == "FakeQuantize":
            found: ov.Output = node.input_value(0)
            divided = found.get_node().get_friendly_name().endswith(ENDING)
            return found.get_node().input_value(0) if divided else found
        node = node.input_value(0).get_node()
    return None


def _answers(network: ov.Model, tensors: Sequence[Floats]) -> list[Floats]:
    answer = answering(network)
    return [answer(tensor)[0] for tensor in tensors]


def _distance(answers: Sequence[Floats], reference: Sequence[Floats]) -> float:
    pairs = zip(answers, reference, strict=True)
    return float(np.mean([np.abs(a - b).mean(dtype=np.float64) for a, b in pairs]))
