"""An ONNX network made ready for quantisation: what a convolution can take in is folded into it.

A quantiser puts a rounding step behind every convolution. Where a batch normalisation or a bias
still follows as a node of its own, that step comes too early: it costs accuracy, and no runtime can
fuse the two any more.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Doubles = NDArray[np.float64]

_PASSES_CHANNELS = "Squeeze"  # of an axis behind the channels: (N, C, 1, W) -> (N, C, W)


def fold(model: onnx.ModelProto) -> None:
    """Drop identities; fold batch normalisations and added biases into convolutions, in place.

    The network computes the same function, up to rounding of float32.
    """
    graph = _Graph(model.graph)
    graph.drop_identities()
    for conv in [n for n in model.graph.node if n.op_type == "Conv"]:
        while graph.fold_next_into(conv):
            pass
    graph.drop_unused_constants()


class _Graph:
    """A graph with its constants by name. Consumers are looked up anew: the graph changes."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.constants = {c.name: c for c in graph.initializer}
        self.outputs = {o.name for o in graph.output}

    def drop_identities(self) -> None:
        origin: dict[str, str] = {}
        for node in list(self.graph.node):
            node.input[:] = [origin.get(name, name) for name in node.input]
            if node.op_type == "Identity" and node.output[0] not in self.outputs:
                origin[node.output[0]] = node.input[0]
                self.graph.node.remove(node)

    def fold_next_into(self, conv: onnx.NodeProto) -> bool:
        """Fold the node that alone uses a convolution's output, if it can be; whether it was."""
        before = conv
        following = self._only_consumer(conv)
        if following is not None and following.op_type == _PASSES_CHANNELS:
            before, following = following, self._only_consumer(following)
        if following is None:
            return False
        factor_and_shift = self._per_channel(following, conv)
        if factor_and_shift is None:
            return False
        self._scale(conv, *factor_and_shift)
        before.output[0] = following.output[0]
        self.graph.node.remove(following)
        return True

    def _per_channel(
        self, node: onnx.NodeProto, conv: onnx.NodeProto
    ) -> tuple[Doubles, Doubles] | None:
        """(factor, shift) of each channel, if that is all the node does."""
        channels = self._constant(conv.input[1]).shape[0]
        if node.op_type == "BatchNormalization":
            gain, shift, mean, variance = (self._constant(name) for name in node.input[1:5])
            epsilon = {a.name: a.f for a in node.attribute}.get("epsilon", 1e-5)
            factor = gain / np.sqrt(variance + epsilon)
            return factor, shift - mean * factor
        if node.op_type == "Add":
            known = [name for name in node.input if name in self.constants]
            if len(known) == 1:
                value = self._constant(known[0])
                if value.size == channels and value.shape[-3:] == (channels, 1, 1):
                    return np.ones(channels), value.reshape(-1)
        return None

    def _scale(self, conv: onnx.NodeProto, factor: Doubles, shift: Doubles) -> None:
        weight = self._constant(conv.input[1])
        bias = self._constant(conv.input[2]) if len(conv.input) > 2 else np.zeros(len(weight))
        names = [f"{conv.name}.weight", f"{conv.name}.bias"]
        self._set(names[0], weight * factor.reshape(-1, *[1] * (weight.ndim - 1)))
        self._set(names[1], bias * factor + shift)
        conv.input[:] = [conv.input[0], *names]

    def _only_consumer(self, node: onnx.NodeProto) -> onnx.NodeProto | None:
        users = [n for n in self.graph.node if node.output[0] in n.input]
        return users[0] if len(users) == 1 and node.output[0] not in self.outputs else None

    def _constant(self, name: str) -> Doubles:
        return np.asarray(numpy_helper.to_array(self.constants[name]), dtype=np.float64)

    def _set(self, name: str, value: Doubles) -> None:
        self.constants[name] = numpy_helper.from_array(value.astype(np.float32), name)

    def drop_unused_constants(self) -> None:
        used = Counter(name for node in self.graph.node for name in node.input)
        del self.graph.initializer[:]
        self.graph.initializer.extend(c for name, c in self.constants.items() if used[name])
