from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nncf", reason="needs the extra quantise")

import openvino as ov

from tests.cloud.forge.quantise.broken import wrongly_scaled
from tests.cloud.forge.quantise.small import POINTWISE
from tierocr.cloud.forge.quantise.artefacts import layers_for_tensorrt, make_for_tensorrt
from tierocr.cloud.forge.quantise.openvino_int8 import quantise, to_openvino
from tierocr.cloud.forge.quantise.probing import weighted_layers
from tierocr.cloud.forge.quantise.qdq import TARGETS
from tierocr.cloud.forge.quantise.sensitivity import rank
from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack


@pytest.fixture(scope="module")
def original(small: Pack) -> ov.Model:
    return to_openvino(small.file("recogniser.onnx"))


def test_the_layer_that_is_wrong_is_named_first(original: ov.Model, tensors: list[Floats]) -> None:
    ticks: list[None] = []
    broken = wrongly_scaled(original, POINTWISE)
    ranked = rank(broken, original, tensors[:2], lambda: ticks.append(None))
    assert ranked[0].layer == POINTWISE
    assert ranked[0].share == pytest.approx(1, abs=1e-3)
    assert len(ranked) == len(ticks) == len(weighted_layers(original))
    assert all(abs(hurt.share) < 1e-3 for hurt in ranked[1:])


def test_rounding_does_not_hide_it(original: ov.Model, tensors: list[Floats]) -> None:
    sound = quantise(original, tensors)
    shares = [hurt.share for hurt in rank(sound, original, tensors[:2])]
    assert min(shares) > -2  # equalised channels fit the weights given back
    ranked = rank(wrongly_scaled(sound, POINTWISE), original, tensors[:2])
    assert ranked[0].layer == POINTWISE and ranked[0].share > 0.5
    assert all(hurt.share < 0.5 for hurt in ranked[1:])


def test_networks_without_a_common_layer_cannot_be_compared(
    original: ov.Model, tensors: list[Floats]
) -> None:
    x = ov.opset13.parameter([1, 3, 48, 64], np.float32)
    other = ov.Model([ov.opset13.relu(x)], [x], "other")
    with pytest.raises(TierocrError) as caught:
        rank(other, original, tensors[:1])
    assert caught.value.code == "model_invalid"


@pytest.mark.parametrize("target", list(TARGETS))
def test_the_file_for_tensorrt_can_be_compared_too(
    target: str, small: Pack, original: ov.Model, tensors: list[Floats], tmp_path: Path
) -> None:
    layers = layers_for_tensorrt(small, "recogniser", tensors, ())
    made = make_for_tensorrt(small, "recogniser", layers, target, tmp_path)
    broken = wrongly_scaled(ov.Core().read_model(made.file), POINTWISE)
    ranked = rank(broken, original, tensors[:2])
    assert ranked[0].layer == POINTWISE and ranked[0].share > 0.5
    assert {"MatMul.0", "Conv.0/WithoutBiases"} < {hurt.layer for hurt in ranked}
