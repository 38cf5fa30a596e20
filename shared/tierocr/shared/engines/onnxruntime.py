"""The ONNX Runtime engine: FP32 on the CPU, or any execution provider that is asked for and
present.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnxruntime as ort

from tierocr.shared.document import Floats, Pixels
from tierocr.shared.engines import EngineOptions, NetworkFacts, Output
from tierocr.shared.engines.arrays import best_of, normalise
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError

_PROVIDERS = {"CPU": "CPUExecutionProvider", "CUDA": "CUDAExecutionProvider"}


class OnnxRuntimeEngine:
    """One inference session.

    Arena and memory pattern are off: with many shapes both only grow. Spinning is off: a kiosk's
    idle threads must sleep.
    """

    def __init__(self, model: Path, network: NetworkFacts, options: EngineOptions) -> None:
        """Load `model` (ONNX). Raises TierocrError `device_unavailable` or `model_invalid`."""
        provider = _PROVIDERS.get(options.device)
        if provider is None or provider not in ort.get_available_providers():
            raise TierocrError(
                "device_unavailable",
                f"ONNX Runtime has no device {options.device!r} here; "
                f"it has: {', '.join(devices())}",
            )
        if options.precision != "f32":
            raise TierocrError(
                "config_invalid", f"ONNX Runtime runs f32 here, not {options.precision}"
            )
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = options.threads or cpu_quota()
        settings.inter_op_num_threads = 1
        settings.enable_cpu_mem_arena = False
        settings.enable_mem_pattern = False
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(str(model), settings, providers=[provider])
        except Exception as error:  # the runtime raises its own classes, which share no base
            raise TierocrError(
                "model_invalid", f"ONNX Runtime cannot load {model.name}: {error}"
            ) from error
        self._network = network
        self._input = self._session.get_inputs()[0].name
        self.precision = options.precision
        self.runtime = f"onnxruntime {ort.__version__} {options.device}"

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        """See `Engine.run`. Raises TierocrError `internal` when the device fails."""
        best = self._network.best
        for batch in batches:
            tensor = normalise(batch, self._network)
            try:
                values: Floats = self._session.run(None, {self._input: tensor})[0]
            except Exception as error:  # see above
                raise TierocrError("internal", f"ONNX Runtime inference failed: {error}") from error
            yield best_of(values, best) if best else Output(values=values)


def devices() -> list[str]:
    """The device names that this machine offers, in our terms."""
    present = ort.get_available_providers()
    return [name for name, provider in _PROVIDERS.items() if provider in present]
