from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("nncf", reason="needs the extra quantise")

import openvino as ov

from tests.cloud.forge.quantise.small import BEHIND_MEAN, DEPTHWISE, PAYS, POINTWISE
from tierocr.cloud.forge.quantise.openvino_int8 import (
    quantise,
    quantised_layers,
    save,
    to_openvino,
)
from tierocr.cloud.forge.quantise.probing import weighted_layers
from tierocr.shared.document import Floats
from tierocr.shared.models.manifest import Pack, digest
from tierocr.shared.models.store import find_pack

KEPT = "Conv.5/WithoutBiases"


@pytest.fixture(scope="module")
def original(small: Pack) -> ov.Model:
    return to_openvino(small.file("recogniser.onnx"))


@pytest.fixture(scope="module")
def quantised(original: ov.Model, tensors: list[Floats]) -> ov.Model:
    return quantise(original, tensors, [KEPT])


def rounded_inputs(network: ov.Model) -> set[str]:
    """The layers whose input is rounded."""
    return {
        user.get_node().get_friendly_name()
        for op in network.get_ops()
        if op.get_type_name() == "FakeQuantize"
        for user in op.output(0).get_target_inputs()
    }


def test_only_what_pays_is_quantised(original: ov.Model, quantised: ov.Model) -> None:
    layers = weighted_layers(original)
    assert set(layers) == {*PAYS, *BEHIND_MEAN, DEPTHWISE} and POINTWISE in PAYS
    assert rounded_inputs(quantised) & set(layers) == set(PAYS) - {KEPT}
    last = quantised.get_results()[0].input_value(0).get_node()
    assert last.get_type_name() == "Softmax"
    assert last.input_value(0).get_node().get_type_name() == "Add"  # nothing rounded before it


def test_of_the_shipped_recogniser_all_but_small_layers_are_quantised() -> None:
    network = to_openvino(find_pack("edge-tiny").file("recogniser.onnx"))
    kinds = {op.get_friendly_name(): op.get_type_name() for op in network.get_ops()}
    layers = weighted_layers(network)
    depthwise = {name for name in layers if kinds[name] == "GroupConvolution"}
    behind_mean = {f"Conv.{i}/WithoutBiases" for i in (3, 4, 14, 15, 25, 26)}
    assert set(quantised_layers(network)) == set(layers) - depthwise - behind_mean


def test_the_network_given_stays_as_it_was(original: ov.Model, quantised: ov.Model) -> None:
    assert Counter(op.get_type_name() for op in original.get_ops())["FakeQuantize"] == 0


def test_the_same_tools_and_data_make_the_same_bytes(
    tmp_path: Path, original: ov.Model, quantised: ov.Model, tensors: list[Floats]
) -> None:
    first = save(quantised, tmp_path / "network.xml")
    digests = [digest(file) for file in first]
    again = save(quantise(original, tensors, [KEPT]), tmp_path / "network.xml")
    assert [digest(file) for file in again] == digests
    assert str(tmp_path) not in again[0].read_text(encoding="utf-8")
