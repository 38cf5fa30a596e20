from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra quantise")

import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tierocr.cloud.forge.quantise.folding import fold
from tierocr.shared.document import Floats
from tierocr.shared.models.store import find_pack

RANDOM = np.random.default_rng(5)


def run(model: onnx.ModelProto, x: Floats) -> Floats:
    plain = ort.SessionOptions()
    plain.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), plain)
    output: Floats = session.run(None, {"x": x})[0]
    return output


def network(nodes: list[onnx.NodeProto], **constants: NDArray[np.float64]) -> onnx.ModelProto:
    """x (1, 2, 1, 5) -> y."""
    given = [numpy_helper.from_array(v.astype(np.float32), name) for name, v in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 1, 5])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "test", [x], [y], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def conv(output: str, *inputs: str) -> onnx.NodeProto:
    return helper.make_node("Conv", ["x", "w", *inputs], [output], name="Conv.0")


def kinds(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


WEIGHT = RANDOM.normal(size=(3, 2, 1, 1))
NORM = {k: RANDOM.uniform(0.5, 2, 3) for k in ("gain", "shift", "mean", "variance")}
X = RANDOM.normal(size=(1, 2, 1, 5)).astype(np.float32)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("squeezed", [False, True])
def test_what_follows_a_convolution_is_folded_into_it(biased: bool, squeezed: bool) -> None:
    before = "s" if squeezed else "c"
    nodes = [conv("c", *(["b"] if biased else []))]
    if squeezed:
        nodes.append(helper.make_node("Squeeze", ["c"], ["s"], axes=[2]))
    nodes += [
        helper.make_node("BatchNormalization", [before, *NORM], ["n"], epsilon=1e-3),
        helper.make_node("Identity", ["n"], ["i"]),
        helper.make_node("Relu", ["i"], ["y"]),
    ]
    constants = {"w": WEIGHT, **NORM} | ({"b": RANDOM.normal(size=3)} if biased else {})
    model = network(nodes, **constants)
    expected = run(model, X)
    fold(model)
    assert set(kinds(model)) == {"Conv", "Relu"} | ({"Squeeze"} if squeezed else set())
    assert len(model.graph.initializer) == 2
    np.testing.assert_allclose(run(model, X), expected, rtol=1e-5, atol=1e-6)


def test_an_added_bias_is_folded_and_anything_else_stays() -> None:
    bias, other = RANDOM.normal(size=(1, 3, 1, 1)), RANDOM.normal(size=(1, 3, 1, 5))
    nodes = [
        conv("c"),
        helper.make_node("Add", ["c", "bias"], ["a"]),
        helper.make_node("Add", ["a", "other"], ["y"]),
    ]
    model = network(nodes, w=WEIGHT, bias=bias, other=other)
    expected = run(model, X)
    fold(model)
    assert kinds(model) == {"Conv": 1, "Add": 1}
    np.testing.assert_allclose(run(model, X), expected, rtol=1e-5, atol=1e-6)


def test_an_output_that_is_used_twice_stays_as_it_is() -> None:
    bias = RANDOM.normal(size=(1, 3, 1, 1))
    nodes = [
        conv("c"),
        helper.make_node("Add", ["c", "bias"], ["a"]),
        helper.make_node("Mul", ["a", "c"], ["y"]),
    ]
    model = network(nodes, w=WEIGHT, bias=bias)
    expected = run(model, X)
    fold(model)
    assert kinds(model) == {"Conv": 1, "Add": 1, "Mul": 1}
    np.testing.assert_allclose(run(model, X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["recogniser", "detector"])
def test_the_shipped_networks_compute_the_same(name: str) -> None:
    model = onnx.load(find_pack("edge-tiny").file(f"{name}.onnx"))
    x = RANDOM.uniform(-1, 1, (1, 3, 96 if name == "detector" else 48, 128)).astype(np.float32)
    expected = run(model, x)
    fold(model)
    onnx.checker.check_model(model)
    assert not {"Identity", "BatchNormalization"} & set(kinds(model))
    np.testing.assert_allclose(run(model, x), expected, atol=1e-4)
