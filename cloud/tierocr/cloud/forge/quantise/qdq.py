"""INT8 for TensorRT: an ONNX file with QuantizeLinear and DequantizeLinear around the layers.

Symmetric int8 throughout, weights by channel, activations by the moving average of what calibration
saw (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-
Only Inference", 2018, 3.1). TensorRT 8.6 takes opset 17 in FP32; TensorRT 10 takes types literally,
so what is not INT8 is written as FP16, whose scales need opset 19.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.transformers.float16 import convert_float_to_float16

from tierocr.cloud.forge.quantise.folding import fold
from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError

MOVING_AVERAGE = 0.1
"""Weight of the newest sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a release of TensorRT reads. `ir`: the format's version that came with the opset."""

    opset: int
    ir: int
    half: bool


TARGETS = {"trt8": Form(opset=17, ir=8, half=False), "trt10": Form(opset=19, ir=9, half=True)}

_QUANTISED = ("Conv", "MatMul", "ConvTranspose")
_MEANS = ("ReduceMean", "GlobalAveragePool")
_MEAN_AXES_BECOME_INPUT = 18  # the opset from which TensorRT 8.6 would average over everything


def quantise(model: Path, tensors: Sequence[Floats], target: str) -> onnx.ModelProto:
    """An FP32 ONNX file in INT8 for "trt8" or "trt10". Raises TierocrError `model_invalid` when the
    result has something in it that this release would refuse or misread.
    """
    form = TARGETS[target]
    network = onnx.load(model)
    fold(network)
    network = version_converter.convert_version(network, form.opset)
    with tempfile.TemporaryDirectory() as scratch:
        before, after = Path(scratch) / "before.onnx", Path(scratch) / "after.onnx"
        onnx.save(network, before)
        quantize_static(
            before,
            after,
            _Reader(network.graph.input[0].name, tensors),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=list(_QUANTISED),
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=_left_out(network.graph),
            extra_options={
                "ActivationSymmetric": True,
                "WeightSymmetric": True,
                "QuantizeBias": False,
                # a step behind a layer would come before its activation, and before the softmax
                "OpTypesToExcludeOutputQuantization": list(_QUANTISED),
                "CalibMovingAverage": True,
                "CalibMovingAverageConstant": MOVING_AVERAGE,
            },
        )
        result = onnx.load(after)
    if form.half:
        result = convert_float_to_float16(result, keep_io_types=True, disable_shape_infer=True)
        _sort(result.graph)  # it appends the casts of the inputs
    result.ir_version = form.ir
    del result.graph.value_info[:]  # shapes of the calibration's batches
    check(result, form)
    return result


def _sort(graph: onnx.GraphProto) -> None:
    """Put every node behind those that it depends on, otherwise in the given order."""
    known = {"", *(i.name for i in graph.input), *(c.name for c in graph.initializer)}
    waiting, ordered = list(graph.node), []
    while waiting:
        ready = next(node for node in waiting if known.issuperset(node.input))
        waiting.remove(ready)
        ordered.append(ready)
        known.update(ready.output)
    del graph.node[:]
    graph.node.extend(ordered)


def check(model: onnx.ModelProto, form: Form) -> None:
    """Raise TierocrError `model_invalid` on what TensorRT refuses or silently computes wrongly."""
    faults: list[str] = []
    opset = {o.domain: o.version for o in model.opset_import}.get("", 0)
    if opset != form.opset:
        faults.append(f"opset {opset} instead of {form.opset}")
    constants = {c.name: c for c in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            faults += _rounding_faults(node, constants)
        elif node.op_type == "ReduceMean" and not _axes_are_known(node, opset):
            faults.append(f"{node.name} does not say which axes it averages")
    if faults:
        raise TierocrError("model_invalid", f"not fit for TensorRT: {'; '.join(faults[:5])}")


def _axes_are_known(mean: onnx.NodeProto, opset: int) -> bool:
    return opset >= _MEAN_AXES_BECOME_INPUT or any(a.name == "axes" for a in mean.attribute)


def _rounding_faults(node: onnx.NodeProto, constants: dict[str, Any]) -> list[str]:
    zero = constants.get(node.input[2]) if len(node.input) > 2 else None
    if zero is None:
        return [f"{node.name} has no zero point"]
    faults = []
    if zero.data_type != onnx.TensorProto.INT8:
        kind = onnx.TensorProto.DataType.Name(zero.data_type)
        faults.append(f"{node.name} rounds to {kind} instead of INT8")
    if np.any(numpy_helper.to_array(zero)):
        faults.append(f"{node.name} has a zero point that is not 0")
    return faults


def _left_out(graph: onnx.GraphProto) -> list[str]:
    """Depthwise convolutions, and those that see only a global mean."""
    made_by = {name: node for node in graph.node for name in node.output}
    names = []
    for node in graph.node:
        groups = {a.name: a.i for a in node.attribute}.get("group", 1)
        if node.op_type == "Conv" and (groups > 1 or _sees_a_mean(node, made_by)):
            names.append(node.name)
    return names


def _sees_a_mean(node: onnx.NodeProto, made_by: dict[str, onnx.NodeProto]) -> bool:
    before = made_by.get(node.input[0])
    while before is not None and before.op_type in ("Relu", "Conv"):
        before = made_by.get(before.input[0])
    return before is not None and before.op_type in _MEANS


class _Reader(CalibrationDataReader):  # type: ignore[misc]  # untyped base
    """Hands the tensors out one by one."""

    def __init__(self, name: str, tensors: Sequence[Floats]) -> None:
        self._feeds: Iterator[dict[str, Floats]] = iter([{name: t} for t in tensors])

    def get_next(self) -> dict[str, Floats] | None:
        """The next input, None at the end."""
        return next(self._feeds, None)
