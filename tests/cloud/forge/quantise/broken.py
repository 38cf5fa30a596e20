"""Networks that were quantised badly, on purpose."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13

from tierocr.cloud.forge.quantise.probing import find


def wrongly_scaled(network: ov.Model, layer: str) -> ov.Model:
    """A copy in which every second output channel of a convolution is four times too large."""
    copy = network.clone()
    op = find(copy, layer)
    kind = op.get_input_element_type(1).to_dtype()
    factor = np.ones((op.output(0).get_partial_shape()[1].get_length(), 1, 1, 1), dtype=kind)
    factor[::2] = 4
    scaled = opset13.multiply(op.input_value(1), opset13.constant(factor))
    op.input(1).replace_source_output(scaled.output(0))
    copy.validate_nodes_and_infer_types()
    return copy
