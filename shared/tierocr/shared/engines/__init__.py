"""Engines: one file per runtime, each the only importer of its runtime.

An engine runs one network on one device: pixels in, probabilities out. `open_engine` is the one
place that maps a runtime's name to its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

from tierocr.shared.document import Classes, Floats, Pixels
from tierocr.shared.errors import TierocrError

RUNTIMES = ("openvino", "onnxruntime")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Output:
    """What a network says of one batch, valid until the next is asked for.

    `values`: float32, the network's only output as it is; or, with `NetworkFacts.best` = k, the k
    largest along its last axis in falling order. `classes`: int32 of the same shape, where on that
    axis these stood, None without `best`.
    """

    values: Floats
    classes: Classes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFacts:
    """What an engine must know about a network beside its file.

    `mean`, `std`: per channel in BGR order, of pixels scaled to 0..1; the network sees
    (pixel / 255 - mean) / std. `best`: of the classes in the output's last axis only this many are
    wanted, 0 for the output as it is. `columns`: the output's (N, T, C) columns T are a multiple
    of this, which lets an engine take them in parts.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    best: int = 0
    columns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How to run a network. `device` in the runtime's own terms ("CPU", "GPU"); `threads`: 0 = the
    CPU quota.

    `precision`: "f32", "bf16", "f16" or "int8", what the network is asked to compute in. `streams`:
    how many batches may run at the same time, sharing the threads; 0: what suits the network.
    `cache_dir` keeps compiled networks between starts, None for none. `kept_shapes`: compile for
    each shape of input by itself and keep that many, of which only the one in use holds working
    memory; 0: one for all shapes, which takes far more memory when the inputs are large.
    """

    device: str = "CPU"
    precision: str = "f32"
    threads: int = 0
    streams: int = 0
    cache_dir: Path | None = None
    kept_shapes: int = 0


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

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        """(N, H, W, 3) uint8 BGR batches -> the output of each, in order.

        Batches are taken as the device gets free, so they may be prepared while it works. Several
        threads may each have a run at the same time, but for an engine with `kept_shapes`.
        """
        ...


def open_engine(runtime: str, model: Path, network: NetworkFacts, options: EngineOptions) -> Engine:
    """Load a network.

    Raises TierocrError: `device_unavailable` when the runtime or device is missing (never another
    device instead), `model_invalid` when the file cannot be loaded, `config_invalid` for an unknown
    runtime.
    """
    if runtime == "openvino":
        from tierocr.shared.engines.openvino import OpenVINOEngine

        return OpenVINOEngine(model, network, options)
    if runtime == "onnxruntime":
        from tierocr.shared.engines.onnxruntime import OnnxRuntimeEngine

        return OnnxRuntimeEngine(model, network, options)
    raise TierocrError(
        "config_invalid", f"unknown runtime {runtime!r}; known: {', '.join(RUNTIMES)}"
    )


def precisions_of(runtime: str, device: str = "CPU") -> frozenset[str]:
    """What a runtime computes in natively on a device; nothing where either is missing."""
    if runtime == "openvino":
        from tierocr.shared.engines.openvino import precisions

        return precisions(device)
    return frozenset({"f32"}) if runtime == "onnxruntime" else frozenset()


def version_of(runtime: str) -> str:
    """The installed version of a runtime, empty where it is not installed."""
    try:
        return metadata.version(runtime)
    except metadata.PackageNotFoundError:
        return ""
