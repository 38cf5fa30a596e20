"""How the device is, and whether it is fit for work.

`readiness` decides, from values alone: a cloud that is down makes a device degraded, never unready,
as documents are read all the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tierocr.edge.outbox.values import Status

THERMAL = Path("/sys/class/thermal")
READY, DEGRADED, NOT_READY = "ready", "degraded", "not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Readings. `temperatures`: degrees Celsius by sensor; `disk_free`: bytes under the outbox,
    None where nobody can tell; `memory`: bytes of this process.
    """

    temperatures: Mapping[str, float]
    disk_free: int | None
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All that is known of an agent. `cloud`: whether it answered last, None where nothing is
    sent; `blocked`: why nothing comes in; `stopping`: it ends.
    """

    outbox: Status
    device: Device
    cloud: bool | None
    blocked: str | None = None
    stopping: bool = False


def readiness(condition: Condition) -> tuple[bool, dict[str, Any]]:
    """Whether documents are taken, and the detail of `/readyz`."""
    ready = condition.blocked is None and not condition.stopping
    status = NOT_READY if not ready else DEGRADED if condition.cloud is False else READY
    reason = "stopping" if condition.stopping else condition.blocked
    if ready and condition.cloud is False:
        reason = "the cloud cannot be reached; documents are read here alone"
    load, device = condition.outbox.load, condition.device
    return ready, {
        "status": status,
        "reason": reason,
        "cloud": {True: "up", False: "down", None: "off"}[condition.cloud],
        "outbox": {
            "documents": load.documents,
            "bytes": load.bytes,
            "oldest_seconds": round(condition.outbox.oldest, 3),
            "waiting_for_cloud": condition.outbox.waiting_documents,
            "undelivered": condition.outbox.pending,
        },
        "device": {
            "temperature_celsius": dict(device.temperatures),
            "disk_free_bytes": device.disk_free,
            "memory_bytes": device.memory,
        },
    }


def temperatures(folder: Path = THERMAL) -> dict[str, float]:
    """What the system's sensors say; none where there are none."""
    found: dict[str, float] = {}
    for zone in sorted(folder.glob("thermal_zone*")):
        with contextlib.suppress(OSError, ValueError):  # some zones cannot be read while asleep
            degrees = int((zone / "temp").read_text().strip()) / 1000
            name = (zone / "type").read_text().strip()
            found[name if name not in found else f"{name} {zone.name}"] = degrees
    return found


def memory() -> int:
    """Bytes that this process takes."""
    return int(psutil.Process().memory_info().rss)
