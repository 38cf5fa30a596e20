from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tierocr.shared.document import Floats, Pixels
from tierocr.shared.engines import RUNTIMES, Engine, EngineOptions, NetworkFacts, open_engine
from tierocr.shared.engines import onnxruntime as onnx_engine
from tierocr.shared.engines import openvino as openvino_engine
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack

ONE_THREAD = EngineOptions(threads=1)
HALF = NetworkFacts(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
IMAGENET = NetworkFacts(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def noise(seed: int, *shape: int) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def answer(engine: Engine, batch: Pixels) -> Floats:
    (output,) = engine.run([batch])
    return output.values.copy()


@pytest.fixture(scope="module")
def detector_file() -> Path:
    return find_pack("edge-tiny").file("detector.onnx")


@pytest.fixture(scope="module")
def recogniser_file() -> Path:
    return find_pack("edge-tiny").file("recogniser.onnx")


def code_of(runtime: str, model: Path, options: EngineOptions = ONE_THREAD) -> tuple[str, str]:
    with pytest.raises(TierocrError) as caught:
        open_engine(runtime, model, IMAGENET, options)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_network_runs_and_says_what_runs(runtime: str, detector_file: Path) -> None:
    engine = open_engine(runtime, detector_file, IMAGENET, ONE_THREAD)
    assert engine.runtime.startswith(runtime) and engine.runtime.endswith("CPU")
    assert engine.precision == "f32"
    output = answer(engine, np.zeros((1, 64, 128, 3), dtype=np.uint8))
    assert output.shape == (1, 1, 64, 128) and output.dtype == np.float32
    assert ((output >= 0) & (output <= 1)).all()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_shapes_may_change_and_inputs_need_not_be_contiguous(
    runtime: str, detector_file: Path
) -> None:
    engine = open_engine(runtime, detector_file, IMAGENET, ONE_THREAD)
    picture = noise(1, 1, 64, 96, 3)
    first = answer(engine, picture)
    assert answer(engine, np.zeros((1, 96, 64, 3), dtype=np.uint8)).shape == (1, 1, 96, 64)
    turned = np.ascontiguousarray(picture.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    assert not turned.flags.c_contiguous
    assert np.array_equal(answer(engine, turned), first)


def test_both_runtimes_agree(detector_file: Path) -> None:
    picture = noise(2, 1, 128, 128, 3)
    one, other = (
        answer(open_engine(r, detector_file, IMAGENET, ONE_THREAD), picture) for r in RUNTIMES
    )
    assert np.abs(one - other).max() < 1e-3


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_best_classes_are_those_of_the_whole_output(
    runtime: str, recogniser_file: Path
) -> None:
    batch = noise(3, 2, 48, 128, 3)
    whole = answer(open_engine(runtime, recogniser_file, HALF, ONE_THREAD), batch)
    wanted = np.sort(whole, axis=-1)[..., :-4:-1]
    engine = open_engine(runtime, recogniser_file, replace(HALF, best=3), ONE_THREAD)
    (best,) = engine.run([batch])
    assert best.classes is not None and best.classes.dtype == np.int32
    assert best.values == pytest.approx(wanted, abs=1e-6)
    assert np.take_along_axis(whole, best.classes, axis=-1) == pytest.approx(wanted, abs=1e-6)


def test_time_is_told_by_kind_of_layer(recogniser_file: Path) -> None:
    batch = noise(4, 1, 48, 64, 3)
    spent = openvino_engine.layer_seconds(
        recogniser_file, replace(HALF, best=2), ONE_THREAD, batch, runs=2
    )
    assert any(kind.startswith("Convolution ") for kind in spent)
    assert all(seconds >= 0 for seconds in spent.values()) and sum(spent.values()) > 0


@pytest.mark.parametrize(
    ("runtime", "streams", "kept_shapes"),
    [("onnxruntime", 1, 0), ("openvino", 3, 0), ("openvino", 1, 2), ("openvino", 2, 1)],
)
def test_outputs_come_in_the_order_of_the_batches(
    runtime: str, streams: int, kept_shapes: int, detector_file: Path
) -> None:
    pictures = [noise(seed, 1, 64, 64 + 32 * (seed // 3), 3) for seed in range(8)]
    alone = open_engine(runtime, detector_file, IMAGENET, ONE_THREAD)
    wanted = [answer(alone, picture) for picture in pictures]
    options = EngineOptions(threads=2, streams=streams, kept_shapes=kept_shapes)
    engine = open_engine(runtime, detector_file, IMAGENET, options)
    for _ in range(2):
        found = [output.values.copy() for output in engine.run(iter(pictures))]
        assert all(f == pytest.approx(w, abs=1e-5) for f, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_several_threads_may_each_have_a_run(runtime: str, detector_file: Path) -> None:
    pictures = [noise(seed, 1, 64, 64 + 32 * (seed % 4), 3) for seed in range(16)]
    alone = open_engine(runtime, detector_file, IMAGENET, ONE_THREAD)
    wanted = [answer(alone, picture) for picture in pictures]
    engine = open_engine(runtime, detector_file, IMAGENET, EngineOptions(threads=2, streams=2))

    def found(start: int) -> list[Floats]:
        own = pictures[start:] + pictures[:start]
        return [output.values.copy() for output in engine.run(iter(own))]

    with ThreadPoolExecutor(4) as pool:
        for start, outputs in zip(range(0, 16, 4), pool.map(found, range(0, 16, 4)), strict=True):
            own = wanted[start:] + wanted[:start]
            assert all(f == pytest.approx(w, abs=1e-5) for f, w in zip(outputs, own, strict=True))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_engine_goes_on_after_a_caller_who_stopped_listening(
    runtime: str, detector_file: Path
) -> None:
    engine = open_engine(runtime, detector_file, IMAGENET, EngineOptions(threads=2, streams=2))
    picture = noise(4, 1, 64, 64, 3)
    for _ in range(5):
        outputs = engine.run(picture for _ in range(4))
        next(outputs)
        del outputs
    assert len([*engine.run(picture for _ in range(4))]) == 4


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("kept_shapes", [0, 1, 3])
def test_an_input_of_the_wrong_shape_is_an_internal_error(
    runtime: str, kept_shapes: int, detector_file: Path
) -> None:
    options = EngineOptions(threads=1, kept_shapes=kept_shapes)
    engine = open_engine(runtime, detector_file, IMAGENET, options)
    assert answer(engine, np.zeros((1, 64, 64, 3), dtype=np.uint8)).shape == (1, 1, 64, 64)
    with pytest.raises(TierocrError) as caught:
        answer(engine, np.zeros((1, 64, 64, 5), dtype=np.uint8))
    assert caught.value.code == "internal"
    assert answer(engine, np.zeros((1, 64, 64, 3), dtype=np.uint8)).shape == (1, 1, 64, 64)


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


SIGNALLED = """
import faulthandler, gc, signal, sys
from pathlib import Path
from tierocr.shared.engines import EngineOptions, NetworkFacts, open_engine, precisions_of

faulthandler.enable()
facts = NetworkFacts(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
engines = [
    open_engine("openvino", Path(sys.argv[1]), facts, EngineOptions(threads=1)) for _ in range(3)
]
precisions_of("openvino")
while engines:
    engines.pop(0)
    gc.collect()
signal.signal(signal.SIGTERM, lambda number, frame: print("told"))
signal.raise_signal(signal.SIGTERM)
"""


def test_a_process_survives_a_signal_after_its_engines_have_gone(detector_file: Path) -> None:
    command = [sys.executable, "-c", SIGNALLED, str(detector_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


def test_numbers_of_others_stay_as_small_as_they_are(recogniser_file: Path) -> None:
    """The network takes the smallest for zero; neither its caller nor other threads do."""
    engine = open_engine("openvino", recogniser_file, HALF, EngineOptions(threads=2, streams=2))
    answer(engine, noise(5, 1, 48, 64, 3))

    def halved() -> float:
        return float(np.float32(2**-140) * np.float32(0.5))

    with ThreadPoolExecutor(1) as pool:
        assert halved() == pool.submit(halved).result() == 2**-141
