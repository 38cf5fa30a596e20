"""The agent's metrics, in the Prometheus text format.

What the agent cannot know is not told: there is no `tierocr_calibration_ece` and no decision
`audit`. Answers come back for lines that were doubted, and say nothing of how often the others,
which are most, are right; that takes a random sample of them, and confidences that a pack has
calibrated.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tierocr.edge.api.health import Condition
from tierocr.edge.routing import OVER_BYTES, OVER_SHARE, UNSURE, WHOLE
from tierocr.edge.sending import changed
from tierocr.shared.document import CLOUD, Document, EngineInfo, Line

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_DENIED = (OVER_BYTES, OVER_SHARE)


class Metrics:
    """One registry; never the process-wide one."""

    def __init__(self, info: EngineInfo) -> None:
        """`info`: what reads."""
        self._registry = found = CollectorRegistry()
        self._requests = Counter(
            "tierocr_requests", "Requests, by route and outcome.", ("route", "code"), registry=found
        )
        self._seconds = Histogram(
            "tierocr_request_duration_seconds",
            "Time to the answer.",
            ("route",),
            buckets=_SECONDS,
            registry=found,
        )
        self._lines = Counter(
            "tierocr_lines", "Lines read, by what was decided.", ("decision",), registry=found
        )
        self._changed = Counter(
            "tierocr_refined_changed", "Lines whose text the cloud changed.", registry=found
        )
        self._refined = Counter(
            "tierocr_refined",
            "Lines that were to be read again, by what became of it.",
            ("outcome",),
            registry=found,
        )
        self._gauges = {
            name: Gauge(f"tierocr_{name}", text, registry=found)
            for name, text in (
                ("outbox_jobs", "Documents that are not finished."),
                ("outbox_oldest_seconds", "Age of the oldest of them."),
                ("outbox_bytes", "What they take."),
                ("cloud_up", "1: the cloud answered last; 0: it did not, or nothing is sent."),
                ("disk_free_bytes", "Free under the outbox."),
                ("memory_bytes", "What this process takes."),
            )
        }
        self._upload = Gauge(
            "tierocr_upload_bytes_total", "Sent to the cloud since the start.", registry=found
        )
        self._temperature = Gauge(
            "tierocr_temperature_celsius", "By sensor.", ("sensor",), registry=found
        )
        engine = Gauge(
            "tierocr_engine_info",
            "What reads.",
            ("backend", "precision", "model"),
            registry=found,
        )
        engine.labels(info.runtime, info.precision, info.pack).set(1)

    def request(self, route: str, code: str, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, code).inc()
        self._seconds.labels(route).observe(seconds)

    def version(self, document: Document, final: bool) -> None:
        """A version of a document is there."""
        lines = [line for page in document.pages for line in page.lines]
        if document.version == 1:
            for line in lines:
                self._lines.labels(decision(line)).inc()
        if final:
            self._changed.inc(sum(map(changed, lines)))
            for line in lines:
                if (became := outcome(line)) is not None:
                    self._refined.labels(became).inc()

    def exposition(self, condition: Condition, uploaded: int) -> bytes:
        """All of them now."""
        load, device = condition.outbox.load, condition.device
        for name, value in (
            ("outbox_jobs", load.documents),
            ("outbox_oldest_seconds", condition.outbox.oldest),
            ("outbox_bytes", load.bytes),
            ("cloud_up", 1 if condition.cloud else 0),
            ("disk_free_bytes", device.disk_free if device.disk_free is not None else -1),
            ("memory_bytes", device.memory),
        ):
            self._gauges[name].set(value)
        self._upload.set(uploaded)
        for sensor, degrees in device.temperatures.items():
            self._temperature.labels(sensor).set(degrees)
        return generate_latest(self._registry)


def decision(line: Line) -> str:
    """What was decided about a line, in the words of the metric."""
    if line.route is None:
        return "offline"
    if line.route.reason.startswith((UNSURE, WHOLE)):
        return "escalate"
    return "budget_denied" if line.route.reason in _DENIED else "keep"


def outcome(line: Line) -> str | None:
    """What became of a line that was to be read again; None for one that was not: `changed`,
    `same`, `refused` for an answer that was not taken, `unanswered`.
    """
    if line.source == CLOUD:
        return "changed" if changed(line) else "same"
    if line.route is None or not line.route.reason.startswith((UNSURE, WHOLE)):
        return None
    return "unanswered" if line.route.reason in (UNSURE, WHOLE) else "refused"
