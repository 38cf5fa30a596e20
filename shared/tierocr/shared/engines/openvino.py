"""The OpenVINO engine: CPU by default, any OpenVINO device by name."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

from tierocr.shared.document import Pixels
from tierocr.shared.engines import EngineOptions, NetworkFacts, Output
from tierocr.shared.engines.openvino_ends import extended
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError

_CAPABILITIES = {"FP32": "f32", "BF16": "bf16", "FP16": "f16", "INT8": "int8"}
_HINTS = {"f32": "f32", "bf16": "bf16", "f16": "f16"}  # int8 is in the file, not a hint


class OpenVINOEngine:
    """One compiled network; a run has an infer request for each stream and one that waits, so that
    no stream has to wait for us.

    Requests are kept for later runs. The number of streams bounds memory: OpenVINO keeps buffers
    for each, and per shape.
    """

    def __init__(self, model: Path, network: NetworkFacts, options: EngineOptions) -> None:
        """Compile `model` (ONNX or IR). Raises TierocrError `device_unavailable`, for a precision
        as for a device, or `model_invalid`.
        """
        _require_device(options.device)
        _require_precision(options)
        self._options = options
        self._best = network.best > 0
        self._streams = max(1, options.streams)
        self._free: deque[Any] = deque()
        """Requests that no run has; taken and given back by several threads."""
        self._compiled: dict[tuple[int, ...], Any] = {}
        """By shape, the one used last at the end; under () the one for all shapes."""
        self.precision = options.precision
        self.runtime = f"openvino {ov.__version__.split('-')[0]} {options.device}"
        try:
            self._network = extended(_core().read_model(str(model)), network, options.precision)
            if not options.kept_shapes:
                self._use((), self._network)
        except RuntimeError as error:
            raise TierocrError(
                "model_invalid", f"OpenVINO cannot load {model.name}: {error}"
            ) from error

    def run(self, batches: Iterable[Pixels]) -> Iterator[Output]:
        """See `Engine.run`. Raises TierocrError `internal` when the device fails."""
        running: deque[tuple[Any, Pixels]] = deque()  # a request holds no pixels by itself
        try:
            for batch in batches:
                if self._options.kept_shapes and batch.shape != self._shape:
                    while running:
                        yield from self._finish(running)
                    self._change_to(batch.shape)
                elif len(running) > self._streams:
                    yield from self._finish(running)
                request, pixels = self._request(), np.ascontiguousarray(batch)
                running.append((request, pixels))
                # takes half the time of handing the pixels to `start_async`
                request.set_input_tensor(ov.Tensor(pixels, shared_memory=True))
                request.start_async()
            while running:
                yield from self._finish(running)
        except RuntimeError as error:
            raise TierocrError("internal", f"OpenVINO inference failed: {error}") from error
        finally:  # also where the caller stops asking, or a batch failed
            for request, _ in running:
                _settle(request)
                self._free.append(request)

    def _finish(self, running: deque[tuple[Any, Pixels]]) -> Iterator[Output]:
        """What the request said that was started first; it is free when the next is asked for."""
        request, _ = running[0]
        request.wait()
        yield Output(
            values=request.get_output_tensor(0).data,
            classes=request.get_output_tensor(1).data if self._best else None,
        )
        self._free.append(running.popleft()[0])

    def _request(self) -> Any:
        try:
            return self._free.pop()
        except IndexError:
            return self._compiled[self._shape].create_infer_request()

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(reversed(self._compiled), ())

    def _change_to(self, shape: tuple[int, ...]) -> None:
        """Have the requests of the network for `shape`, and the others' working memory freed."""
        self._free.clear()
        if self._compiled:
            self._compiled[self._shape].release_memory()
        if shape in self._compiled:
            self._compiled[shape] = self._compiled.pop(shape)
            return
        while len(self._compiled) >= self._options.kept_shapes:
            self._compiled.pop(next(iter(self._compiled)))
        network = self._network.clone()
        network.reshape(list(shape))
        self._use(shape, network)

    def _use(self, shape: tuple[int, ...], network: ov.Model) -> None:
        options = self._options
        config = {**_config(options), "NUM_STREAMS": self._streams}
        if options.cache_dir is not None:
            config["CACHE_DIR"] = str(options.cache_dir)
        self._compiled[shape] = _compile(network, options.device, config)


@cache
def _core() -> ov.Core:
    """The process's one OpenVINO, never given up.

    Each core gives its thread an alternate signal stack and, when it ends, puts back the one that
    it found. Of two that do not end in the reverse order of their beginning one puts back what is
    gone, and the next signal (a SIGTERM, say) kills the process.
    """
    return ov.Core()


def _compile(network: ov.Model, device: str, config: dict[str, Any]) -> Any:
    """Compile, in a thread of its own: those that OpenVINO starts for the network take over how it
    treats numbers too small for their format, and nobody else's threads shall.
    """
    with ThreadPoolExecutor(1, "compile") as pool:
        return pool.submit(_core().compile_model, network, device, config).result()


def _config(options: EngineOptions) -> dict[str, Any]:
    # what is not quantised in an INT8 network stays in f32: the gate saw it so
    config: dict[str, Any] = {"INFERENCE_PRECISION_HINT": _HINTS.get(options.precision, "f32")}
    if options.device.startswith("CPU"):
        config["INFERENCE_NUM_THREADS"] = options.threads or cpu_quota()
        # pinned, all networks of a process would want the same cores
        config["ENABLE_CPU_PINNING"] = False
        # taken for zero: kernels compute them in lanes that nobody reads, three times as slowly
        config["CPU_DENORMALS_OPTIMIZATION"] = True
    return config


def layer_seconds(
    model: Path, network: NetworkFacts, options: EngineOptions, batch: Pixels, *, runs: int = 20
) -> dict[str, float]:
    """Mean seconds that one run on `batch` spends in each kind of layer and the kernel that runs
    it, "Convolution brgconv_avx512_1x1_I8", for people who look for what to make faster.
    """
    whole = extended(_core().read_model(str(model)), network, options.precision)
    config = {**_config(options), "NUM_STREAMS": 1, "PERF_COUNT": True}
    request = _compile(whole, options.device, config).create_infer_request()
    _once(request, batch)
    spent: Counter[str] = Counter()
    for _ in range(runs):
        _once(request, batch)
        for layer in request.get_profiling_info():
            if layer.status == ov.ProfilingInfo.Status.EXECUTED:
                seconds = layer.real_time.total_seconds() / runs
                spent[f"{layer.node_type} {layer.exec_type}"] += seconds
    return dict(spent.most_common())


def _once(request: Any, batch: Pixels) -> None:
    request.start_async([batch])  # `infer` would run in this thread
    request.wait()


def devices() -> list[str]:
    """The device names that this machine offers."""
    return list(_core().available_devices)


def precisions(device: str = "CPU") -> frozenset[str]:
    """What a device computes in natively, in our terms; nothing for a device that is missing."""
    try:
        able = _core().get_property(device, "OPTIMIZATION_CAPABILITIES")
    except RuntimeError:
        return frozenset()
    return frozenset(ours for theirs, ours in _CAPABILITIES.items() if theirs in able)


def _settle(request: Any) -> None:
    try:
        request.wait()
    except RuntimeError:  # it failed, which whoever asked for it was told
        return


def _require_precision(options: EngineOptions) -> None:
    """OpenVINO takes a hint it cannot follow, and runs something else."""
    able = precisions(options.device)
    if options.precision not in able:
        raise TierocrError(
            "device_unavailable",
            f"{options.device} does not compute in {options.precision} here, "
            f"only in {', '.join(sorted(able))}",
        )


def _require_device(device: str) -> None:
    known = devices()
    if device.split(".")[0].split(":")[0] not in {d.split(".")[0] for d in known}:
        raise TierocrError(
            "device_unavailable",
            f"OpenVINO has no device {device!r} here; it has: {', '.join(known)}",
        )
