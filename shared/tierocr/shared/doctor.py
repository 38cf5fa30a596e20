"""What can run on this machine: runtimes, devices, packs, memory, optional parts; how to get
what lacks.

Only looks; changes nothing and uses no network.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata, util

import psutil

from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack, list_packs

ENOUGH_MEMORY = 1 << 30
"""Bytes of available memory under which reading large pages may fail."""

OK, NOTE, MISSING = "ok", "note", "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at. `state`: "ok", "note" (worth knowing) or "missing" (needed)."""

    what: str
    state: str
    detail: str


def examine() -> list[Finding]:
    """Every finding, the needed things first."""
    return [
        _machine(),
        _memory(),
        _runtime("openvino", _openvino_devices),
        _runtime("onnxruntime", _onnxruntime_devices),
        *_packs(),
        *_precisions(),
        _optional("HEIC files", "pillow_heif", "tierocr[heif]"),
    ]


def _machine() -> Finding:
    detail = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
    return Finding(what="machine", state=OK, detail=f"{detail}{cpu_quota()} CPUs may be used")


def _memory() -> Finding:
    free = psutil.virtual_memory().available
    return Finding(
        what="memory",
        state=OK if free >= ENOUGH_MEMORY else NOTE,
        detail=f"{free / 2**30:.1f} GiB available",
    )


def _runtime(name: str, devices: Callable[[], list[str]]) -> Finding:
    try:
        found = devices()
    except ImportError as error:
        detail = f"cannot be loaded ({error}): pip install {name}"
        return Finding(what=name, state=MISSING, detail=detail)
    version = metadata.version(name)
    return Finding(what=name, state=OK, detail=f"{version}, devices: {', '.join(found)}")


def _openvino_devices() -> list[str]:
    from tierocr.shared.engines.openvino import devices

    return devices()


def _onnxruntime_devices() -> list[str]:
    from tierocr.shared.engines.onnxruntime import devices

    return devices()


def _packs() -> list[Finding]:
    findings = []
    for name in sorted(list_packs()):
        try:
            pack = find_pack(name)
            pack.verify()
        except TierocrError as error:
            # the cloud's pack needs an extra that an edge device has no use for
            state = NOTE if name.startswith("cloud") else MISSING
            findings.append(Finding(what=f"pack {name}", state=state, detail=error.message))
        else:
            detail = f"version {pack.manifest.version}, {pack.manifest.licence}, digests match"
            findings.append(Finding(what=f"pack {name}", state=OK, detail=detail))
    if not findings:
        detail = "no model pack found: reinstall tierocr, or tierocr models fetch edge-tiny"
        findings.append(Finding(what="packs", state=MISSING, detail=detail))
    return findings


def _precisions() -> list[Finding]:
    """What each pack that can be tuned runs in here, and why."""
    try:
        from tierocr.shared.ocr.tune import choice_for
    except ImportError:  # the runtime is missing, which is said elsewhere
        return []
    findings = []
    for name in sorted(list_packs()):
        try:
            pack = find_pack(name)
            if pack.manifest.canary is None:
                continue
            choice = choice_for(pack, "openvino")
        except TierocrError:
            continue  # said elsewhere
        detail = f"detector {choice.detector}, recogniser {choice.recogniser}: {choice.why}"
        findings.append(Finding(what=f"read with {name}", state=OK, detail=detail))
    return findings


def _optional(what: str, module: str, extra: str) -> Finding:
    if util.find_spec(module) is not None:
        return Finding(what=what, state=OK, detail=f"{module} {metadata.version(module)}")
    return Finding(what=what, state=NOTE, detail=f"not installed: pip install '{extra}'")
