"""What is added to both ends of an OpenVINO network: from pixels, and to the best classes. Both run
faster inside the network than in numpy.

It decides how the same numbers are come by, never which; it knows no device and no batch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import PrePostProcessor

from tierocr.shared.engines import NetworkFacts

GROUPS = 108
"""Of classes, among which the best are looked for; the fastest of 64 to 432 for 6,906 classes."""

PARTS, PARTS_IN_HALF = 4, 2
"""Of the columns at most, each taken from features to classes before the next: its scores stay in
the processor's cache, and only one part's take memory. In 16 bits few columns at a time are slow.
"""

_NEVER = np.float32(-1e9)
"""The score of a class that is there to fill a group."""


def extended(model: ov.Model, network: NetworkFacts, precision: str) -> ov.Model:
    """The model from (N, H, W, 3) uint8 pixels to the `network.best` best classes, or to its own
    output where none are asked for. `precision`: what it will compute in.
    """
    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).mean(
        [255 * m for m in network.mean]
    ).scale([255 * s for s in network.std])
    model = steps.build()
    if not network.best:
        return model
    output = model.output(0).get_node().input_value(0)
    most = PARTS_IN_HALF if precision in ("bf16", "f16") else PARTS
    values, classes = _best(output, network.best, gcd(most, network.columns))
    return ov.Model([values, classes], model.get_parameters(), model.get_name())


def _best(output: ov.Output, count: int, parts: int) -> tuple[ov.Output, ov.Output]:
    """The `count` largest of the last axis and their classes."""
    softmax = output.get_node()
    classes = output.get_partial_shape()[-1]
    if softmax.get_type_name() == "Softmax" and classes.is_static:
        return _best_of_softmax(softmax.input_value(0), classes.get_length(), count, parts)
    top = ops.topk(output, np.int64(count), -1, "max", "value", "i32")
    return top.output(0), top.output(1)


def _best_of_softmax(
    scores: ov.Output, classes: int, count: int, parts: int
) -> tuple[ov.Output, ov.Output]:
    """The `count` largest probabilities of a softmax of (N, T, C) scores, and their classes, taken
    in equal parts of T.
    """
    head = _linear_head(scores, classes)
    if head is None:
        return _best_of_scores(_filled(scores, classes), count)
    features, score = head
    split = ops.split(features, np.int64(1), parts).outputs()
    each = [_best_of_scores(score(part), count) for part in split]
    values, found = (ops.concat([one[k] for one in each], 1).output(0) for k in (0, 1))
    return values, found


def _best_of_scores(scores: ov.Output, count: int) -> tuple[ov.Output, ov.Output]:
    """See `_best_of_softmax`, of a number of classes that makes whole groups.

    Neither are all probabilities computed nor all classes sorted: the largest stand in those groups
    of classes whose own largest are largest.
    """
    size = scores.get_partial_shape()[-1].get_length() // GROUPS
    groups = ops.reshape(scores, _ints(0, 0, GROUPS, size), special_zero=True)  # N, T, groups, size
    highest = ops.reduce_max(groups, _ints(3))
    most = ops.reduce_max(highest, _ints(2), keep_dims=True)
    total = ops.reduce_sum(ops.exp(ops.subtract(scores, most)), _ints(2), keep_dims=True)
    where = ops.topk(highest, np.int64(count), -1, "max", "index", "i32").output(1)
    chosen = ops.gather(groups, where, np.int64(2), batch_dims=2)  # N, T, count, size
    flat = ops.reshape(chosen, _ints(0, 0, count * size), special_zero=True)
    top = ops.topk(flat, np.int64(count), -1, "max", "value", "i32")
    values = ops.divide(ops.exp(ops.subtract(top.output(0), most)), total)
    each = ops.constant(np.int32(size))
    group = ops.gather(where, ops.divide(top.output(1), each), np.int64(2), batch_dims=2)
    found = ops.add(ops.multiply(group, each), ops.floor_mod(top.output(1), each))
    return values.output(0), found.output(0)


Scoring = Callable[[ov.Output], ov.Output]
"""From (N, T, F) features to (N, T, C) scores."""


def _linear_head(scores: ov.Output, classes: int) -> tuple[ov.Output, Scoring] | None:
    """The features that a linear layer makes `scores` of, and that layer with classes added that
    fill the last group; None for scores that come about in another way.
    """
    add = _passed(scores)
    if add.get_type_name() != "Add":
        return None
    product, bias = (_passed(value) for value in add.input_values())
    if product.get_type_name() != "MatMul" or bias.get_type_name() != "Constant":
        return None
    if bias.get_data().size != classes:
        return None
    features, weights = product.input_values()
    turned = product.get_attributes()["transpose_b"]
    wide = _widened(weights.get_node(), -2 if turned else -1, classes)
    if wide is None or product.get_attributes()["transpose_a"]:
        return None
    never = np.full(_missing(classes), _NEVER)
    offsets = ops.constant(np.append(bias.get_data().astype(np.float32).ravel(), never))

    def score(part: ov.Output) -> ov.Output:
        return ops.add(ops.matmul(part, wide, False, turned), offsets).output(0)

    return features, score


def _widened(node: ov.Node, axis: int, classes: int) -> ov.Node | None:
    """A constant, or what makes floating point of one, with the last class repeated to fill its
    group; None for anything else.
    """
    kind = node.get_type_name()
    if kind == "Constant":
        values = node.get_data()
        if values.ndim < -axis or values.shape[axis] != classes:
            return node if values.size == 1 else None
        widths = [(0, 0)] * values.ndim
        widths[axis] = (0, _missing(classes))
        return ops.constant(np.pad(values, widths, mode="edge"))
    inputs = [_widened(value.get_node(), axis, classes) for value in node.input_values()]
    if any(found is None for found in inputs):
        return None
    if kind == "Convert":
        return ops.convert(inputs[0], node.get_output_element_type(0))
    make = {"Multiply": ops.multiply, "Subtract": ops.subtract}.get(kind)
    return make(*inputs) if make else None


def _filled(scores: ov.Output, classes: int) -> ov.Output:
    """Scores with classes added that fill the last group."""
    widths = _ints(0, 0, _missing(classes))
    return ops.pad(scores, _ints(0, 0, 0), widths, "constant", _NEVER).output(0)


def _missing(classes: int) -> int:
    return -classes % GROUPS


def _passed(value: ov.Output) -> ov.Node:
    """What makes a value, whatever hands it on unchanged."""
    node = value.get_node()
    while node.get_type_name() == "Identity":
        node = node.input_value(0).get_node()
    return node


def _ints(*values: int) -> ov.Node:
    return ops.constant(np.array(values, dtype=np.int64))
