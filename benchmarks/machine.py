"""What a measurement ran on, where it bears on the numbers; never a machine's or user's name."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

import psutil

from tierocr.shared.engines.threads import cpu_quota

ROOT = Path(__file__).resolve().parent.parent

CPU_FLAGS = (
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimddp",
    "i8mm",
    "bf16",
)
"""The processor flags that decide which integer and half-precision kernels a runtime may use."""

Run = Callable[[Sequence[str]], str]
"""Runs a command and returns what it printed; raises OSError or SubprocessError."""


class Machine(TypedDict):
    """A machine fingerprint; `load_before`: load average (1, 5, 15 minutes) before the run."""

    cpu: str
    cpu_flags: list[str]
    cores_allowed: int
    cores_present: int
    memory_bytes: int
    os: str
    architecture: str
    python: str
    packages: dict[str, str]
    load_before: list[float]


def fingerprint(packages: Iterable[str] = (), *, proc: Path = Path("/proc")) -> Machine:
    """The machine as it is now: take it before the run, so that a noisy one can be seen."""
    cpu, flags = parse_cpuinfo(_text(proc / "cpuinfo"))
    return Machine(
        cpu=cpu or platform.processor() or platform.machine(),
        cpu_flags=flags,
        cores_allowed=cpu_quota(),
        cores_present=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        os=_system(),
        architecture=platform.machine(),
        python=platform.python_version(),
        packages=package_versions(packages),
        load_before=[round(load, 2) for load in psutil.getloadavg()],
    )


def parse_cpuinfo(text: str) -> tuple[str, list[str]]:
    """(model name, known flags) of the first processor in the text of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), value.strip())
    present = set((fields.get("flags") or fields.get("features") or "").split())
    model = fields.get("model name") or fields.get("model") or ""
    return model, [flag for flag in CPU_FLAGS if flag in present]


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """The installed version of each package; those that are not installed are left out."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def run_command(command: Sequence[str]) -> str:
    """Run `command` in the project's root; what it printed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    return done.stdout


def revision(run: Run = run_command) -> str:
    """The git revision, `+changes` added where files differ from it; `unknown` without git."""
    try:
        head = run(["git", "rev-parse", "HEAD"]).strip()
        # results are what a benchmark writes: they do not make the measured code another one
        changes = run(["git", "status", "--porcelain", "--", ".", ":!benchmarks/results"]).strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{head}+changes" if changes else head


def _system() -> str:
    """Like `Debian GNU/Linux 12 (bookworm)`; the bare system's name where it does not say."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
