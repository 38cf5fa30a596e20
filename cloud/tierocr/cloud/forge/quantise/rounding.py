"""Weights rounded with regard for each other, in place.

Rounding each weight to its nearest level ignores that inputs go together: what one weight loses
another can make up for. Layer by layer, from the front, the weights are first refitted so that the
layer's answer to the rounded inputs comes near FP32's answer to the exact ones, then rounded one
input at a time, the error of each pushed into those still to come (Frantar et al., "GPTQ", ICLR
2023, algorithm 1). Biases take up what is left on average. No gradients, no labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import openvino as ov

from tierocr.cloud.forge.quantise.probing import Doubles, as_rows, find, inputs_of
from tierocr.shared.document import Floats

_REFIT = 1e-3  # of the mean variance: how firmly refitted weights are held to the old ones
_DAMPING = 1e-2
_LEAST_SPREAD = 1e-9  # of inputs that never change, too


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """Means of the rounded and the exact inputs, and their covariances."""

    rounded: Doubles
    exact: Doubles
    variance: Doubles
    across: Doubles


def refine(
    quantised: ov.Model,
    original: ov.Model,
    layers: Sequence[str],
    tensors: Sequence[Floats],
    tick: Callable[[str], None] = lambda _: None,
) -> None:
    """Round the weights of `layers` (in order) of a network that NNCF has quantised again.
    `original`: the same network in FP32.
    """
    for name in layers:
        tick(name)
        layer, exact = find(quantised, name), find(original, name)
        given = inputs_of(quantised, [name], tensors), inputs_of(original, [name], tensors)
        pairs = ((as_rows(layer, a), as_rows(exact, b)) for [a], [b] in zip(*given, strict=True))
        moments = _moments(pairs)
        weights = np.asarray(exact.input_value(1).get_node().get_data(), dtype=np.float64)
        flat = weights.reshape(len(weights), -1)
        steps, levels, store = _levels(layer)
        rounded = compensated(refitted(flat, moments), moments.variance, steps, levels)
        store(rounded.reshape(weights.shape))
        left = flat @ moments.exact - (rounded * steps[:, None]) @ moments.rounded
        _correct_bias(layer, exact, left)
    quantised.validate_nodes_and_infer_types()


def refitted(weights: Doubles, moments: _Moments) -> Doubles:
    """(outputs, inputs) weights that do with the rounded inputs what `weights` did with the exact
    ones, in the sense of least squares.
    """
    hold = _REFIT * _spread(moments.variance) * np.eye(weights.shape[1])
    wanted = weights @ (moments.across + hold)
    return np.asarray(np.linalg.solve(moments.variance + hold, wanted.T).T)


def compensated(weights: Doubles, variance: Doubles, steps: Doubles, levels: int) -> Doubles:
    """(outputs, inputs) weights as whole numbers of `steps` (outputs), at most `levels` each way.

    `variance`: covariance of the inputs.
    """
    damped = variance + _DAMPING * _spread(variance) * np.eye(len(variance))
    order = np.linalg.cholesky(np.linalg.inv(damped)).T
    rest, whole = weights.copy(), np.zeros_like(weights)
    for i in range(weights.shape[1]):
        whole[:, i] = np.clip(np.round(rest[:, i] / steps), -levels, levels)
        error = (rest[:, i] - whole[:, i] * steps) / order[i, i]
        rest[:, i:] -= np.outer(error, order[i, i:])
    return whole


def _spread(variance: Doubles) -> float:
    return max(_LEAST_SPREAD, float(np.mean(np.diag(variance))))


def _moments(pairs: Iterable[tuple[Doubles, Doubles]]) -> _Moments:
    count, sums = 0, None
    for rounded, exact in pairs:
        now = (rounded.sum(0), exact.sum(0), rounded.T @ rounded, exact.T @ rounded)
        sums = now if sums is None else tuple(a + b for a, b in zip(sums, now, strict=True))
        count += len(rounded)
    assert sums is not None
    mean_rounded, mean_exact, variance, across = (s / count for s in sums)
    return _Moments(
        rounded=mean_rounded,
        exact=mean_exact,
        variance=variance - np.outer(mean_rounded, mean_rounded),
        across=across - np.outer(mean_exact, mean_rounded),
    )


def _levels(layer: ov.Node) -> tuple[Doubles, int, Callable[[Doubles], None]]:
    """The step of each output, the most levels each way, and what stores whole numbers."""
    scaling = layer.input_value(1).get_node()
    widening = scaling.input_value(0).get_node()
    old = widening.input_value(0).get_node().get_data()
    steps = np.asarray(scaling.input_value(1).get_node().get_data(), dtype=np.float64).reshape(-1)

    def store(whole: Doubles) -> None:
        constant = ov.op.Constant(np.ascontiguousarray(whole.astype(old.dtype)))
        widening.input(0).replace_source_output(constant.output(0))

    every = np.broadcast_to(steps, len(old)) if steps.size == 1 else steps
    return np.asarray(every), int(np.abs(old.astype(np.int64)).max()), store


def _correct_bias(layer: ov.Node, exact: ov.Node, left: Doubles) -> None:
    """Add what is left to the bias that FP32 adds after the layer."""
    addition, before = addition_of(layer), addition_of(exact)
    if addition is None or before is None:
        return
    index = constant_input(addition)
    bias = np.asarray(before.input_value(constant_input(before)).get_node().get_data())
    axis = 1 if bias.ndim == 4 else bias.ndim - 1
    shape = [-1 if a == axis else 1 for a in range(bias.ndim)]
    corrected = np.ascontiguousarray((bias + left.reshape(shape)).astype(np.float32))
    addition.input(index).replace_source_output(ov.op.Constant(corrected).output(0))


def addition_of(layer: ov.Node) -> ov.Node | None:
    """The addition of a bias that alone uses a layer, None where there is none."""
    users = [user.get_node() for user in layer.output(0).get_target_inputs()]
    biased = [u for u in users if u.get_type_name() == "Add" and constant_input(u) >= 0]
    return biased[0] if len(users) == 1 and biased else None


def constant_input(addition: ov.Node) -> int:
    """Which input of an addition is a constant, -1 for none."""
    kinds = [addition.input_value(i).get_node().get_type_name() for i in (0, 1)]
    return kinds.index("Constant") if "Constant" in kinds else -1
