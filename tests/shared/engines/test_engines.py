from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tierocr.shared.engines import RUNTIMES, EngineOptions, open_engine
from tierocr.shared.engines import onnxruntime as onnx_engine
from tierocr.shared.engines import openvino as openvino_engine
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack

ONE_THREAD = EngineOptions(threads=1)


@pytest.fixture(scope="module")
def detector_file() -> Path:
    return find_pack("edge-tiny").file("detector.onnx")


def code_of(runtime: str, model: Path, options: EngineOptions = ONE_THREAD) -> tuple[str, str]:
    with pytest.raises(TierocrError) as caught:
        open_engine(runtime, model, options)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_network_runs_and_says_what_runs(runtime: str, detector_file: Path) -> None:
    engine = open_engine(runtime, detector_file, ONE_THREAD)
    assert engine.runtime.startswith(runtime) and engine.runtime.endswith("CPU")
    assert engine.precision == "f32"
    output = engine.run(np.zeros((1, 3, 64, 128), dtype=np.float32))
    assert output.shape == (1, 1, 64, 128) and output.dtype == np.float32
    assert ((output >= 0) & (output <= 1)).all()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_shapes_may_change_and_inputs_need_not_be_contiguous(
    runtime: str, detector_file: Path
) -> None:
    engine = open_engine(runtime, detector_file, ONE_THREAD)
    picture = np.random.default_rng(1).random((1, 3, 64, 96), dtype=np.float32)
    first = engine.run(picture).copy()
    assert engine.run(np.zeros((1, 3, 96, 64), dtype=np.float32)).shape == (1, 1, 96, 64)
    turned = np.ascontiguousarray(picture.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    assert not turned.flags.c_contiguous
    assert np.array_equal(engine.run(turned), first)


def test_both_runtimes_agree(detector_file: Path) -> None:
    picture = np.random.default_rng(2).random((1, 3, 128, 128), dtype=np.float32)
    one, other = (open_engine(r, detector_file, ONE_THREAD).run(picture) for r in RUNTIMES)
    assert np.abs(one - other).max() < 1e-3


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_input_of_the_wrong_shape_is_an_internal_error(
    runtime: str, detector_file: Path
) -> None:
    engine = open_engine(runtime, detector_file, ONE_THREAD)
    with pytest.raises(TierocrError) as caught:
        engine.run(np.zeros((1, 5, 64, 64), dtype=np.float32))
    assert caught.value.code == "internal"
    assert engine.run(np.zeros((1, 3, 64, 64), dtype=np.float32)).shape == (1, 1, 64, 64)


@pytest.mark.parametrize("runtime", ["", "OpenVINO", "tensorflow"])
def test_an_unknown_runtime_is_refused_by_name(runtime: str, detector_file: Path) -> None:
    code, message = code_of(runtime, detector_file)
    assert code == "config_invalid"
    assert repr(runtime) in message and all(known in message for known in RUNTIMES)


@pytest.mark.parametrize(
    ("runtime", "device", "present"),
    [
        ("openvino", "GPU", openvino_engine.devices),
        ("openvino", "NPU.1", openvino_engine.devices),
        ("openvino", "TOASTER", openvino_engine.devices),
        ("onnxruntime", "CUDA", onnx_engine.devices),
        ("onnxruntime", "TOASTER", onnx_engine.devices),
    ],
)
def test_a_missing_device_is_never_replaced(
    runtime: str, device: str, present: Callable[[], list[str]], detector_file: Path
) -> None:
    here = present()
    assert "CPU" in here
    if any(d.split(".")[0] == device.split(".")[0] for d in here):
        pytest.skip(f"{device} is present")
    code, message = code_of(runtime, detector_file, EngineOptions(device=device, threads=1))
    assert code == "device_unavailable"
    assert repr(device) in message and "CPU" in message


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("content", [b"", b"this is no network", None])
def test_a_broken_file_is_refused(runtime: str, content: bytes | None, tmp_path: Path) -> None:
    model = tmp_path / "broken.onnx"
    if content is not None:
        model.write_bytes(content)
    code, message = code_of(runtime, model)
    assert code == "model_invalid"
    assert "broken.onnx" in message


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_file_cut_short_is_refused(runtime: str, detector_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "short.onnx"
    model.write_bytes(detector_file.read_bytes()[:100_000])
    assert code_of(runtime, model)[0] == "model_invalid"


def test_onnx_runtime_refuses_a_precision_it_does_not_run(detector_file: Path) -> None:
    code, message = code_of("onnxruntime", detector_file, EngineOptions(precision="bf16"))
    assert code == "config_invalid" and "bf16" in message
