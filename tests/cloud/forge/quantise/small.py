"""A recogniser made on the spot: a few layers of each kind, and weights drawn by lot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.fakes.packs import manifest, sha256

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789+-"
BEHIND_MEAN = ("Conv.3/WithoutBiases", "Conv.4/WithoutBiases")
DEPTHWISE = "Conv.1/WithoutBiases"
POINTWISE = "Conv.2/WithoutBiases"
PAYS = ("Conv.0/WithoutBiases", POINTWISE, "Conv.5/WithoutBiases", "MatMul.0")


class _Layers:
    def __init__(self) -> None:
        self._random = np.random.default_rng(8)
        self.nodes: list[onnx.NodeProto] = []
        self.given: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self.given.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def weights(self, name: str, *shape: int) -> str:
        fan_in = int(np.prod(shape[1:] if len(shape) > 2 else shape[:1]))
        return self.constant(name, self._random.normal(size=shape) * np.sqrt(2 / fan_in))

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{kind}.at{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}.out"], name=name, **attributes))
        return f"{name}.out"

    def conv(self, number: int, x: str, *shape: int, group: int = 1, stride: int = 1) -> str:
        """A convolution, normalised in batches."""
        pad = shape[2] // 2
        weights = self.weights(f"w{number}", *shape)
        y = self.add(
            *("Conv", x, weights),
            name=f"Conv.{number}",
            group=group,
            strides=[stride] * 2,
            pads=[pad] * 4,
        )
        around = {"gain": 1.0, "shift": 0.0, "mean": 0.0, "variance": 1.0}
        norm = [
            self.constant(f"{k}{number}", v + self._random.uniform(0, 0.3, shape[0]))
            for k, v in around.items()
        ]
        return self.add("BatchNormalization", y, *norm)


def recogniser() -> onnx.ModelProto:
    """x (N, 3, 48, W) -> probabilities (N, W / 8, a blank, `LETTERS` and a space)."""
    net = _Layers()
    a = net.add("Relu", net.conv(0, "x", 8, 3, 3, 3, stride=2))
    b = net.add("Relu", net.conv(1, a, 8, 1, 3, 3, stride=2, group=8))
    c = net.add("Relu", net.conv(2, b, 16, 8, 1, 1))
    mean = net.add("ReduceMean", c, axes=[2, 3], keepdims=1)
    squeezed = net.add("Relu", net.conv(3, mean, 4, 16, 1, 1))
    d = net.add("Mul", c, net.add("Sigmoid", net.conv(4, squeezed, 16, 4, 1, 1)))
    e = net.add("Relu", net.conv(5, d, 16, 16, 3, 3, stride=2))
    rows = net.add("Transpose", net.add("ReduceMean", e, axes=[2], keepdims=0), perm=[0, 2, 1])
    classes = len(LETTERS) + 2
    product = net.add("MatMul", rows, net.weights("head", 16, classes), name="MatMul.0")
    biased = net.add("Add", product, net.constant("bias", np.linspace(-0.5, 0.5, classes)))
    net.nodes.append(helper.make_node("Softmax", [biased], ["y"], name="Softmax.0", axis=2))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 48, "W"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "T", classes])
    graph = helper.make_graph(net.nodes, "small", [x], [y], net.given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def write_small_pack(folder: Path) -> Path:
    """A pack with that recogniser; its detector is none."""
    files = {
        "detector.onnx": b"a detector",
        "recogniser.onnx": recogniser().SerializeToString(deterministic=True),
        "charset.txt": "".join(f"{letter}\n" for letter in LETTERS).encode(),
    }
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    values = manifest(folder.name)
    values["files"] = {name: {"sha256": sha256(content)} for name, content in files.items()}
    (folder / "pack.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder
