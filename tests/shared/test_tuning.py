from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.packs import manifest
from tierocr.shared.models.manifest import Manifest, Network
from tierocr.shared.tuning import (
    CLEARLY,
    NETWORKS,
    Candidate,
    Identity,
    Tuning,
    candidates,
    choose,
    load,
)

HERE = Identity(processor="p", kernels="AVX2", threads=2, runtime="openvino 1", pack="abc")
BOTH: dict[Network, list[str]] = {
    "detector": ["f32", "int8"],
    "recogniser": ["f32", "bf16", "int8"],
}


def int8_pack(*measured_with: str) -> Manifest:
    values: dict[str, Any] = manifest("small")
    way = {"batch": 8, "lines": 4000, "reference": 80, "exact": 80, "loss": 0, "bound": 0.3}
    values["artefacts"].append(
        {
            "network": "recogniser",
            "runtime": "openvino",
            "precisions": ["int8"],
            "file": "recogniser.onnx",
            "measured": [{"isa": isa, **way} for isa in measured_with],
        }
    )
    return Manifest.model_validate(values)


def tuned(**milliseconds: float | None) -> Tuning:
    return Tuning(
        identity=HERE,
        candidates=tuple(
            Candidate(network="recogniser", precision=p, milliseconds=m)
            for p, m in milliseconds.items()
        ),
    )


# Which precisions come into question


def test_a_quantised_network_counts_only_with_kernels_it_passed_the_gate_with() -> None:
    able = {"f32", "bf16", "int8"}
    passed = candidates(int8_pack("AVX2"), "openvino", able, "AVX2")
    assert passed == {"detector": ["f32", "bf16"], "recogniser": ["f32", "bf16", "int8"]}
    for kernels in ("AVX512_CORE_VNNI", None):
        found = candidates(int8_pack("AVX2"), "openvino", able, kernels)
        assert found["recogniser"] == ["f32", "bf16"]


def test_what_the_machine_does_not_compute_is_left_out() -> None:
    found = candidates(int8_pack("AVX2"), "openvino", {"f32"}, "AVX2")
    assert found == {"detector": ["f32"], "recogniser": ["f32"]}
    assert candidates(int8_pack(), "onnxruntime", {"f32"}, "AVX2")["detector"] == []


# What is chosen


@pytest.mark.parametrize("kernels", ["AVX2", None])
def test_untuned_runs_fp32(kernels: str | None) -> None:
    choice = choose(None, BOTH, kernels)
    assert (choice.detector, choice.recogniser) == ("f32", "f32")
    assert "doctor --tune" in choice.why


@pytest.mark.parametrize("network", ["detector", "recogniser"])
def test_untuned_with_vnni_runs_what_passed_in_int8(network: Network) -> None:
    passed: dict[Network, list[str]] = {n: ["f32", "int8"] for n in NETWORKS}
    assert getattr(choose(None, passed, "AVX512_CORE_VNNI"), network) == "int8"
    without: dict[Network, list[str]] = {**passed, network: ["f32"]}
    assert getattr(choose(None, without, "AVX512_CORE_VNNI"), network) == "f32"


def test_a_pack_without_fp32_runs_what_it_has() -> None:
    only: dict[Network, list[str]] = {"detector": ["bf16"], "recogniser": ["bf16"]}
    assert choose(None, only, None).detector == "bf16"


def test_a_rejected_candidate_is_never_chosen() -> None:
    fast = Candidate(network="recogniser", precision="int8", milliseconds=1.0, rejected="misreads")
    slow = Candidate(network="recogniser", precision="f32", milliseconds=100.0)
    found = Tuning(identity=HERE, candidates=(fast, slow))
    assert choose(found, BOTH, "AVX2").recogniser == "f32"


def test_a_candidate_that_no_longer_counts_is_not_chosen() -> None:
    found = tuned(int8=1.0, f32=100.0)
    now: dict[Network, list[str]] = {**BOTH, "recogniser": ["f32"]}
    assert choose(found, now, "AVX2").recogniser == "f32"


@given(
    st.dictionaries(
        st.sampled_from(["f32", "bf16", "int8"]), st.floats(0.1, 1000), min_size=1, max_size=3
    )
)
def test_the_choice_is_the_fastest_or_fp32_where_that_is_hardly_slower(
    times: dict[str, float],
) -> None:
    chosen = choose(tuned(**times), BOTH, "AVX2").recogniser
    assert chosen in times
    best = min(times.values())
    if chosen == "f32":
        assert times["f32"] <= best / CLEARLY
    else:
        assert times[chosen] == best


# What is kept


def test_a_tuning_is_kept_and_found_again(tmp_path: Path) -> None:
    file = tmp_path / "tuning.json"
    found = tuned(f32=10.0, int8=None)
    file.write_text(found.model_dump_json(by_alias=True), encoding="utf-8")
    assert load(file, HERE) == found


@pytest.mark.parametrize("field", list(Identity.model_fields))
def test_a_tuning_of_anything_else_does_not_count(field: str, tmp_path: Path) -> None:
    file = tmp_path / "tuning.json"
    file.write_text(tuned(f32=10.0).model_dump_json(by_alias=True), encoding="utf-8")
    other = HERE.model_copy(update={field: 7 if field == "threads" else "other"})
    assert load(file, other) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "tierocr.tuning/2"}', "\x00"])
def test_a_damaged_file_is_no_tuning(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tuning.json"
    file.write_text(content, encoding="utf-8")
    assert load(file, HERE) is None
    assert load(tmp_path / "missing", HERE) is None
