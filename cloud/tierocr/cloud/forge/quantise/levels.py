"""The rounded layers of an OpenVINO network as plain numbers, to be written down elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from tierocr.cloud.forge.quantise.equalising import ENDING
from tierocr.cloud.forge.quantise.probing import find, pads, rounding_before
from tierocr.cloud.forge.quantise.rounding import addition_of, constant_input
from tierocr.shared.document import Floats

WITHOUT_BIAS = "/WithoutBiases"
"""OpenVINO's ending of a convolution's name whose bias it made an addition of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundedLayer:
    """One layer in signed INT8. `name`: its name in ONNX.

    What it is given is first multiplied by `factor` (by channel, None for nothing), then `shift` is
    taken off, then it is rounded to -128 to 127 times `step`. `whole`: (outputs, …) int8, weights
    of 7 bits; `weight_steps`: (outputs,) float32. `bias`: (outputs,) float32, None where there is
    none; it brings back what the shift took off.
    """

    name: str
    factor: Floats | None
    shift: float
    step: float
    whole: NDArray[np.int8]
    weight_steps: Floats
    bias: Floats | None


def rounded_layers(quantised: ov.Model, names: Sequence[str]) -> list[RoundedLayer]:
    """Layers of a network that `openvino_int8.quantise` made for signed levels, in the order given.

    A range that is not symmetric becomes one by a shift: exact, where nothing is padded with zeros.
    Raises ValueError for a layer that was left in floating point, or pads and is not symmetric.
    """
    return [_rounded(quantised, find(quantised, name)) for name in names]


def _rounded(quantised: ov.Model, layer: ov.Node) -> RoundedLayer:
    name = layer.get_friendly_name()
    rounding = rounding_before(layer)
    low, high = (float(_data(rounding.input_value(i)).item()) for i in (1, 2))
    step = (high - low) / 255
    shift = low + 128 * step
    if abs(shift) < 1e-4 * step:
        shift = 0.0
    elif pads(quantised, name):
        raise ValueError(f"{name} pads its input and is not rounded about zero: {low} to {high}")
    before = rounding.input_value(0).get_node()
    scaling = layer.input_value(1).get_node()
    whole = _data(scaling.input_value(0).get_node().input_value(0))
    steps = _data(scaling.input_value(1)).reshape(-1)
    weight_steps = np.broadcast_to(steps, (len(whole),)).astype(np.float32)
    added = addition_of(layer)
    bias = None if added is None else _data(added.input_value(constant_input(added))).reshape(-1)
    if shift:
        taken = shift * whole.reshape(len(whole), -1).sum(1, dtype=np.int64) * weight_steps
        bias = (taken if bias is None else bias + taken).astype(np.float32)
    return RoundedLayer(
        name=name.removesuffix(WITHOUT_BIAS),
        factor=_data(before.input_value(1)).reshape(-1) if _equalises(before) else None,
        shift=shift,
        step=step,
        whole=whole,
        weight_steps=weight_steps,
        bias=bias,
    )


def _equalises(node: ov.Node) -> bool:
    return bool(node.get_friendly_name().endswith(ENDING))


def _data(value: ov.Output) -> Any:
    return np.asarray(value.get_node().get_data())
