"""What the service counts, in the Prometheus text format.

One registry per application, so that two in one process do not mix. Base units; no label ever
carries a device, a token or a text. Must not know how the work is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tierocr.cloud.accelerators import Usage
from tierocr.shared.document import EngineInfo

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 6, 8, 12, 16, 32, 64)
_RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

MIXED = "mixed"
"""The bucket of a batch that holds several."""


class Metrics:
    """The service's metrics, each a plain method away from the code that knows the value."""

    def __init__(self) -> None:
        """All of them, at zero."""
        self.registry = CollectorRegistry()
        in_registry = self.registry
        self._requests = Counter(
            "tierocr_requests", "Answered requests.", ("route", "code"), registry=in_registry
        )
        self._duration = Histogram(
            "tierocr_request_duration_seconds",
            "From the first byte of a request to its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=in_registry,
        )
        self._depth = Gauge(
            "tierocr_queue_depth", "Crops waiting.", ("bucket",), registry=in_registry
        )
        self._wait = Histogram(
            "tierocr_queue_wait_seconds",
            "From a crop's decoding to its launch.",
            buckets=_SECONDS,
            registry=in_registry,
        )
        self._batch_size = Histogram(
            "tierocr_batch_size",
            "Crops per call of the network.",
            ("stage", "bucket"),
            buckets=_SIZES,
            registry=in_registry,
        )
        self._fill = Histogram(
            "tierocr_batch_fill_ratio",
            "Crops in a batch over the most that fit.",
            buckets=_RATIOS,
            registry=in_registry,
        )
        self._padding = Histogram(
            "tierocr_padding_ratio",
            "Share of a batch's input columns that are padding.",
            buckets=_RATIOS,
            registry=in_registry,
        )
        self._stage = Histogram(
            "tierocr_stage_duration_seconds",
            "Time of one piece of work in a stage.",
            ("stage",),
            buckets=_SECONDS,
            registry=in_registry,
        )
        self._shed = Counter(
            "tierocr_shed",
            "Requests turned away to protect others.",
            ("reason",),
            registry=in_registry,
        )
        self._missed = Counter(
            "tierocr_deadline_missed", "Crops and files not read in time.", registry=in_registry
        )
        self._decoders_lost = Counter(
            "tierocr_decoders_lost",
            "Decoder processes that died, hung or were not to be trusted.",
            ("reason",),
            registry=in_registry,
        )
        self._gpu_memory, self._gpu_limit, self._gpu_busy = (
            Gauge(f"tierocr_gpu_{name}", text, ("device",), registry=in_registry)
            for name, text in (
                ("memory_bytes", "Memory of an accelerator that is in use, by whomever."),
                ("memory_limit_bytes", "Memory that an accelerator has."),
                ("utilisation_ratio", "Part of the last moments in which it computed."),
            )
        )
        self._engine = Gauge(
            "tierocr_engine_info",
            "What runs, always 1.",
            ("backend", "precision", "model", "version"),
            registry=in_registry,
        )

    def request(self, route: str, code: str, seconds: float) -> None:
        """One answered request; `code` is "ok" or an error code."""
        self._requests.labels(route, code).inc()
        self._duration.labels(route).observe(seconds)

    def batch(
        self, *, buckets: list[int], contents: list[int], most: int, waited: list[float]
    ) -> None:
        """One launched batch: its crops' buckets and own widths, the most that fit, and how long
        each waited.
        """
        size = len(contents)
        label = str(buckets[0]) if len(set(buckets)) == 1 else MIXED
        self._batch_size.labels("recognise", label).observe(size)
        self._fill.observe(size / most)
        self._padding.observe(max(0.0, 1 - sum(contents) / sum(buckets)))
        for seconds in waited:
            self._wait.observe(seconds)

    def stage(self, name: str, seconds: float) -> None:
        """One piece of work of the stage."""
        self._stage.labels(name).observe(seconds)

    def shed(self, reason: str) -> None:
        """One request turned away."""
        self._shed.labels(reason).inc()

    def missed(self) -> None:
        """One piece of work that was not done in time."""
        self._missed.inc()

    def decoder_lost(self, reason: str) -> None:
        """One decoder process was lost: `time`, `killed`, `crashed` or `strange`."""
        self._decoders_lost.labels(reason).inc()

    def engine(self, info: EngineInfo) -> None:
        """What runs from now on."""
        self._engine.clear()
        backend, _, rest = info.runtime.partition(" ")
        version = rest.partition(" ")[0]
        self._engine.labels(backend, info.precision, info.pack, version).set(1)

    def exposition(self, depths: Mapping[int, int], usages: Iterable[Usage] = ()) -> bytes:
        """The text for a scrape, with the queue's depth and the accelerators as they are now."""
        for usage in usages:
            for gauge, value in (
                (self._gpu_memory, usage.memory),
                (self._gpu_limit, usage.memory_limit),
                (self._gpu_busy, usage.busy),
            ):
                if value is not None:
                    gauge.labels(usage.device).set(value)
        self._depth.clear()
        for bucket, count in depths.items():
            self._depth.labels(str(bucket)).set(count)
        return generate_latest(self.registry)
