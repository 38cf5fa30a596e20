"""Engines: one file per runtime, each the only importer of its runtime.

An engine runs one network on one device. It is owned by one worker: `run` is not safe to call from
two threads at once. `open_engine` is the one place that maps a runtime's name to its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError

RUNTIMES = ("openvino", "onnxruntime")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How to run a network. `device` in the runtime's own terms ("CPU", "GPU"); `threads`: 0 = the
    CPU quota.

    `precision`: "f32", "bf16", "f16" or "int8", what the network is asked to compute in.
    `cache_dir` keeps compiled networks between starts, None for none. `one_shape`: compile for the
    input's shape, anew whenever it changes; that takes far less memory than all shapes at once.
    """

    device: str = "CPU"
    precision: str = "f32"
    threads: int = 0
    cache_dir: Path | None = None
    one_shape: bool = False


class Engine(Protocol):
    """One network on one device."""

    @property
    def runtime(self) -> str:
        """Runtime, version and device that really run, for people: "openvino 2026.4 CPU"."""
        ...

    @property
    def precision(self) -> str:
        """The precision that really runs."""
        ...

    def run(self, batch: Floats) -> Floats:
        """(N, C, H, W) float32 -> the network's only output, float32, valid until the next call."""
        ...


def open_engine(runtime: str, model: Path, options: EngineOptions) -> Engine:
    """Load a network.

    Raises TierocrError: `device_unavailable` when the runtime or device is missing (never another
    device instead), `model_invalid` when the file cannot be loaded, `config_invalid` for an unknown
    runtime.
    """
    if runtime == "openvino":
        from tierocr.shared.engines.openvino import OpenVINOEngine

        return OpenVINOEngine(model, options)
    if runtime == "onnxruntime":
        from tierocr.shared.engines.onnxruntime import OnnxRuntimeEngine

        return OnnxRuntimeEngine(model, options)
    raise TierocrError(
        "config_invalid", f"unknown runtime {runtime!r}; known: {', '.join(RUNTIMES)}"
    )
