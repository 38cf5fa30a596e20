"""The OpenVINO engine: CPU by default, any OpenVINO device by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

from tierocr.shared.document import Floats
from tierocr.shared.engines import EngineOptions
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError

_HINTS = {"f32": "f32", "bf16": "bf16", "f16": "f16"}  # int8 is in the file, not a hint


class OpenVINOEngine:
    """One compiled network with one infer request, reused for every call.

    One request bounds memory: OpenVINO keeps buffers per request and per shape.
    """

    def __init__(self, model: Path, options: EngineOptions) -> None:
        """Compile `model` (ONNX or IR). Raises TierocrError `device_unavailable` or
        `model_invalid`.
        """
        self._core = ov.Core()
        _require_device(self._core, options.device)
        self._options = options
        self._request: Any = None
        self._shape: tuple[int, ...] = ()
        self.precision = options.precision
        self.runtime = f"openvino {ov.__version__.split('-')[0]} {options.device}"
        try:
            self._network = self._core.read_model(str(model))
            if not options.one_shape:
                self._request = self._compile(self._network)
        except RuntimeError as error:
            raise TierocrError(
                "model_invalid", f"OpenVINO cannot load {model.name}: {error}"
            ) from error

    def run(self, batch: Floats) -> Floats:
        """See `Engine.run`. Raises TierocrError `internal` when the device fails."""
        try:
            if self._options.one_shape and batch.shape != self._shape:
                self._compile_for(batch.shape)
            self._request.infer([np.ascontiguousarray(batch)], share_inputs=True)
        except RuntimeError as error:
            raise TierocrError("internal", f"OpenVINO inference failed: {error}") from error
        output: Floats = self._request.get_output_tensor(0).data
        return output

    def _compile_for(self, shape: tuple[int, ...]) -> None:
        self._request, self._shape = None, ()  # first: both together would be in memory
        network = self._network.clone()
        network.reshape(list(shape))
        self._request = self._compile(network)
        self._shape = shape

    def _compile(self, network: ov.Model) -> Any:
        options = self._options
        config: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
        if options.precision in _HINTS:
            config["INFERENCE_PRECISION_HINT"] = _HINTS[options.precision]
        if options.device.startswith("CPU"):
            config["INFERENCE_NUM_THREADS"] = options.threads or cpu_quota()
        if options.cache_dir is not None:
            config["CACHE_DIR"] = str(options.cache_dir)
        return self._core.compile_model(network, options.device, config).create_infer_request()


def devices() -> list[str]:
    """The device names that this machine offers."""
    return list(ov.Core().available_devices)


def _require_device(core: ov.Core, device: str) -> None:
    known = core.available_devices
    if device.split(".")[0].split(":")[0] not in {d.split(".")[0] for d in known}:
        raise TierocrError(
            "device_unavailable",
            f"OpenVINO has no device {device!r} here; it has: {', '.join(known)}",
        )
