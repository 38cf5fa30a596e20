"""INT8 for TensorRT: an ONNX file with QuantizeLinear and DequantizeLinear around the layers.

Signed int8 without zero points throughout, weights by channel. Levels, equalised channels and
rounded weights are those that the scheme for OpenVINO finds; here they are written into the ONNX
network, and what lies lopsided about zero is shifted there first. TensorRT 8.6 takes opset 17 in
FP32; TensorRT 10 takes types literally, so what is not INT8 is written as FP16, whose scales need
opset 19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper, version_converter
from onnxruntime.transformers.float16 import convert_float_to_float16

from tierocr.cloud.forge.quantise.folding import fold
from tierocr.cloud.forge.quantise.levels import RoundedLayer
from tierocr.shared.errors import TierocrError


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a release of TensorRT reads. `ir`: the format's version that came with the opset."""

    opset: int
    ir: int
    half: bool


TARGETS = {"trt8": Form(opset=17, ir=8, half=False), "trt10": Form(opset=19, ir=9, half=True)}

STEPS = ("/Mul", "/Sub")
"""Endings of the names of what comes before a layer's rounding: equalising, shifting."""

_MEAN_AXES_BECOME_INPUT = 18  # the opset from which TensorRT 8.6 would average over everything


def quantise(model: Path, layers: Sequence[RoundedLayer], target: str) -> onnx.ModelProto:
    """An FP32 ONNX file in INT8 for "trt8" or "trt10", its `layers` rounded as given. Raises
    TierocrError `model_invalid` when the result has something in it that this release would refuse
    or misread.
    """
    form = TARGETS[target]
    network = onnx.load(model)
    fold(network)
    network = version_converter.convert_version(network, form.opset)
    graph = _Graph(network.graph)
    for layer in layers:
        graph.round(layer)
    graph.drop_unused_constants()
    if form.half:
        network = convert_float_to_float16(network, keep_io_types=True, disable_shape_infer=True)
        _sort(network.graph)  # it appends the casts of the inputs
    network.ir_version = form.ir
    del network.graph.value_info[:]  # shapes of another network
    check(network, form)
    return network


class _Graph:
    """A graph whose layers get rounding steps one by one."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.constants = {c.name: c for c in graph.initializer}
        self.nodes = {n.name: n for n in graph.node}

    def round(self, layer: RoundedLayer) -> None:
        """Put the steps before a layer, and its rounded weights and corrected bias into it."""
        node = self.nodes[layer.name]
        new = list(self._given(node, layer)) + [self._weights(node, layer)]
        place = list(self.graph.node).index(node)
        for offset, added in enumerate(new):
            self.graph.node.insert(place + offset, added)
        if layer.bias is not None:
            self._correct_bias(node, layer.bias)

    def _given(self, node: onnx.NodeProto, layer: RoundedLayer) -> list[onnx.NodeProto]:
        """Equalising, quantising and dequantising of what the layer is given."""
        name, new, value = layer.name, [], node.input[0]
        if layer.factor is not None:
            rank = (-1, 1, 1) if node.op_type == "Conv" else (-1,)
            factor = self._constant(f"{name}/factor", layer.factor.reshape(rank))
            given, result = [value, factor], [f"{name}/equal"]
            new.append(helper.make_node("Mul", given, result, name + STEPS[0]))
            value = f"{name}/equal"
        if layer.shift:
            shift = self._constant(f"{name}/shift", np.array(layer.shift, dtype=np.float32))
            given, result = [value, shift], [f"{name}/shifted"]
            new.append(helper.make_node("Sub", given, result, name + STEPS[1]))
            value = f"{name}/shifted"
        step = self._constant(f"{name}/step", np.array(layer.step, dtype=np.float32))
        zero = self._constant(f"{name}/zero", np.array(0, dtype=np.int8))
        for kind, ending in (("QuantizeLinear", "whole"), ("DequantizeLinear", "rounded")):
            rounded = f"{name}/{ending}"
            new.append(helper.make_node(kind, [value, step, zero], [rounded], f"{name}/{kind}"))
            value = rounded
        node.input[0] = value
        return new

    def _weights(self, node: onnx.NodeProto, layer: RoundedLayer) -> onnx.NodeProto:
        """What turns the layer's whole numbers into weights."""
        name, whole, axis = layer.name, layer.whole, 0
        if node.op_type == "MatMul":  # (inputs, outputs) here
            whole, axis = whole.T, 1
        shape = tuple(self.constants[node.input[1]].dims)
        if whole.shape != shape:
            raise TierocrError("model_invalid", f"{name} has weights of another shape: {shape}")
        given = [
            self._constant(f"{name}/weights", np.ascontiguousarray(whole)),
            self._constant(f"{name}/weight steps", layer.weight_steps.astype(np.float32)),
            self._constant(f"{name}/weight zeros", np.zeros(len(layer.weight_steps), np.int8)),
        ]
        node.input[1] = f"{name}/rounded weights"
        return helper.make_node(
            "DequantizeLinear", given, [node.input[1]], f"{name}/Dequantize weights", axis=axis
        )

    def _correct_bias(self, node: onnx.NodeProto, bias: NDArray[np.float32]) -> None:
        if node.op_type == "Conv":
            del node.input[2:]
            node.input.append(self._constant(f"{node.name}/bias", bias))
            return
        addition = next(n for n in self.graph.node if node.output[0] in n.input)
        index = next(i for i, value in enumerate(addition.input) if value in self.constants)
        old = numpy_helper.to_array(self.constants[addition.input[index]])
        addition.input[index] = self._constant(f"{node.name}/bias", bias.reshape(old.shape))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        self.graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    def drop_unused_constants(self) -> None:
        """Forget the weights that were rounded."""
        used = {value for node in self.graph.node for value in node.input}
        kept = [c for c in self.graph.initializer if c.name in used]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)


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
