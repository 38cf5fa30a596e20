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

_NEVER = np.float32(-6e4)
"""The score of a class that is there to fill a group: far from any other, within what 16 bits hold.
"""


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
    values, classes = _best(output, network, in_half=precision in ("bf16", "f16"))
    return ov.Model([values, classes], model.get_parameters(), model.get_name())


def _best(
    output: ov.Output, network: NetworkFacts, *, in_half: bool
) -> tuple[ov.Output, ov.Output]:
    """The largest of the last axis and their classes."""
    softmax = output.get_node()
    classes = output.get_partial_shape()[-1]
    if softmax.get_type_name() != "Softmax" or classes.is_dynamic:
        top = ops.topk(output, np.int64(network.best), -1, "max", "value", "i32")
        return top.output(0), top.output(1)
    scores = _scores(softmax.input_value(0), classes.get_length(), network.columns, in_half=in_half)
    found = [_best_of_scores(part, network.best) for part in scores]
    values, group, place = (ops.concat([one[k] for one in found], 1).output(0) for k in range(3))
    return values, _classes(group, place, _size(scores[0]))


def _scores(scores: ov.Output, classes: int, columns: int, *, in_half: bool) -> list[ov.Output]:
    """(N, T, C) scores in equal parts of T, with classes added that fill the last group."""
    head = _linear_head(scores, classes)
    if head is None:
        return [_filled(scores, classes)]
    features, score = head
    parts = gcd(PARTS_IN_HALF if in_half else PARTS, columns)
    each = [score(part) for part in ops.split(features, np.int64(1), parts).outputs()]
    # what follows the layer's sums within one kernel has them in 32 bits, and hands them on so
    return [ops.clamp(part, _NEVER, -_NEVER).output(0) for part in each] if in_half else each


def _best_of_scores(scores: ov.Output, count: int) -> tuple[ov.Output, ov.Output, ov.Output]:
    """The `count` largest probabilities of each column, the groups that the search came down to,
    and where in these they stand, counted through.

    Not all classes are sorted: the largest stand in those groups of classes whose own largest are
    largest.
    """
    probability = ops.softmax(scores, -1)
    split = _ints(0, 0, GROUPS, _size(scores))
    groups = ops.reshape(probability, split, special_zero=True)  # N, T, groups, size
    highest = ops.reduce_max(groups, _ints(3))
    where = ops.topk(highest, np.int64(count), -1, "max", "index", "i32").output(1)
    chosen = ops.gather(groups, where, np.int64(2), batch_dims=2)  # N, T, count, size
    flat = ops.reshape(chosen, _ints(0, 0, count * _size(scores)), special_zero=True)
    top = ops.topk(flat, np.int64(count), -1, "max", "value", "i32")
    return top.output(0), where, top.output(1)


def _classes(group: ov.Output, place: ov.Output, size: int) -> ov.Output:
    """The classes that stand at each `place` of `group`s of `size`."""
    each = ops.constant(np.int32(size))
    mine = ops.gather(group, ops.divide(place, each), np.int64(2), batch_dims=2)
    return ops.add(ops.multiply(mine, each), ops.floor_mod(place, each)).output(0)


def _size(scores: ov.Output) -> int:
    """How many classes make a group."""
    return int(scores.get_partial_shape()[-1].get_length()) // GROUPS


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
