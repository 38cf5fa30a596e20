"""How many threads this process may use: the smaller of its CPU affinity and its cgroup quota.

A container with two cores on a machine of sixty-four must not start sixty-four threads.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUP_V2 = Path("/sys/fs/cgroup/cpu.max")
_CGROUP_V1 = Path("/sys/fs/cgroup/cpu")


def cpu_quota() -> int:
    """The number of CPUs this process may use, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on Windows or macOS
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    limit = _cgroup_limit(_CGROUP_V2, _CGROUP_V1)
    return max(1, min(cores, math.ceil(limit)) if limit else cores)


def _cgroup_limit(v2: Path, v1: Path) -> float | None:
    """CPUs allowed by the quota (quota over period), None without one."""
    try:
        quota, period = v2.read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        pass
    try:
        quota_us = int((v1 / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period_us = int((v1 / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return quota_us / period_us if quota_us > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None
