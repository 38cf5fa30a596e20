from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra quantise")

import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tierocr.cloud.forge.quantise.artefacts import layers_for_tensorrt
from tierocr.cloud.forge.quantise.calibration import line_tensors
from tierocr.cloud.forge.quantise.levels import RoundedLayer
from tierocr.cloud.forge.quantise.qdq import TARGETS, check, quantise
from tierocr.shared.document import Floats, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack


@pytest.fixture(scope="module")
def network() -> Path:
    return find_pack("edge-tiny").file("recogniser.onnx")


@pytest.fixture(scope="module")
def tensors(printed: list[Pixels]) -> list[Floats]:
    pack = find_pack("edge-tiny")
    return line_tensors(printed[:2], pack.manifest.recogniser.facts(pack.charset()))


@pytest.fixture(scope="module")
def layers(tensors: list[Floats]) -> list[RoundedLayer]:
    return layers_for_tensorrt(find_pack("edge-tiny"), "recogniser", tensors, ())


def test_what_is_lopsided_is_shifted_and_what_pads_is_not(layers: list[RoundedLayer]) -> None:
    by_name = {layer.name: layer for layer in layers}
    assert by_name["Conv.0"].shift == by_name["Conv.1"].shift == 0.0  # these pad their input
    assert by_name["Conv.6"].shift > 0.0  # behind an activation that hardly goes below zero
    assert by_name["Conv.0"].factor is None and by_name["Conv.6"].factor is not None
    for layer in layers:
        assert layer.step > 0 and layer.whole.dtype == np.int8
        assert 50 < np.abs(layer.whole).max() <= 64  # no sum of two products overflows 16 bits
        assert layer.weight_steps.shape == (len(layer.whole),)


@pytest.mark.parametrize("target", list(TARGETS))
def test_each_release_gets_what_it_can_read(
    target: str, network: Path, tensors: list[Floats], layers: list[RoundedLayer]
) -> None:
    form = TARGETS[target]
    model = quantise(network, layers, target)
    onnx.checker.check_model(model)
    assert (model.opset_import[0].version, model.ir_version) == (form.opset, form.ir)
    kinds = {c.data_type for c in model.graph.initializer}
    assert TensorProto.INT8 in kinds and TensorProto.INT32 not in kinds
    assert (TensorProto.FLOAT16 in kinds) == form.half
    assert model.graph.node[-1].op_type in ("Softmax", "Cast")
    steps = [n for n in model.graph.node if n.op_type == "QuantizeLinear"]
    assert len(steps) >= 20
    assert model.SerializeToString(deterministic=True) == quantise(
        network, layers, target
    ).SerializeToString(deterministic=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    reference = ort.InferenceSession(network.read_bytes(), providers=["CPUExecutionProvider"])
    for tensor in tensors:
        (a,), (b,) = session.run(None, {"x": tensor}), reference.run(None, {"x": tensor})
        assert a.dtype == np.float32
        assert (a.argmax(axis=2) == b.argmax(axis=2)).mean() > 0.9


def rounding(zero: NDArray[Any] | None, kind: str = "QuantizeLinear") -> onnx.ModelProto:
    """A network of a single rounding step; `zero`: its zero point."""
    inputs = ["x", "s"] + ([] if zero is None else ["z"])
    given = [numpy_helper.from_array(np.array(0.1, dtype=np.float32), "s")]
    given += [] if zero is None else [numpy_helper.from_array(zero, "z")]
    return single(helper.make_node(kind, inputs, ["y"], name="step"), given)


def single(node: onnx.NodeProto, given: list[onnx.TensorProto], opset: int = 17) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "test", [x], [y], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


MEAN = helper.make_node("ReduceMean", ["x"], ["y"], name="mean")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (rounding(None), "no zero point"),
        (rounding(np.array(0, dtype=np.uint8)), "UINT8"),
        (rounding(np.array(3, dtype=np.int8)), "not 0"),
        (rounding(np.array(0, dtype=np.int32), "DequantizeLinear"), "INT32"),
        (single(MEAN, []), "axes"),
        (single(MEAN, [], opset=18), "opset 18"),
    ],
    ids=["no zero point", "uint8", "zero point", "bias", "mean", "opset"],
)
def test_what_tensorrt_would_misread_is_refused(model: onnx.ModelProto, said: str) -> None:
    with pytest.raises(TierocrError, match=said) as caught:
        check(model, TARGETS["trt8"])
    assert caught.value.code == "model_invalid"


def test_what_it_reads_is_let_through() -> None:
    check(rounding(np.array(0, dtype=np.int8)), TARGETS["trt8"])
    mean = helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3])
    check(single(mean, []), TARGETS["trt8"])
