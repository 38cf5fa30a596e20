"""How busy the machine's accelerators are, as their drivers tell: NVML, or a Jetson's sysfs.

What is not there is left out: a machine without an accelerator, a driver or the optional package
`nvidia-ml-py` has nothing to tell, and that is no error. May block for as long as a driver takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

DEVFREQ = Path("/sys/class/devfreq")
_JETSON_GPUS = ("ga10b", "gpu", "gv11b", "gp10b")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Of one accelerator; None for what its driver does not tell. `busy`: 0 to 1, the part of the
    last moments in which it computed. `memory`, `memory_limit`: bytes.
    """

    device: str
    busy: float | None = None
    memory: int | None = None
    memory_limit: int | None = None


class Probe(Protocol):
    """Tells of some accelerators."""

    def read(self) -> Sequence[Usage]:
        """What they do now; raises nothing."""
        ...


class Nvml:
    """NVIDIA's accelerators, by `pynvml` or something with its functions."""

    def __init__(self, nvml: Any) -> None:
        """`nvml`: the module, initialised."""
        self._nvml = nvml

    def read(self) -> list[Usage]:
        """See `Probe.read`."""
        nvml = self._nvml
        count = _or_none(nvml.nvmlDeviceGetCount) or 0
        return [usage for number in range(count) if (usage := self._usage(number))]

    def _usage(self, number: int) -> Usage | None:
        handle = _or_none(lambda: self._nvml.nvmlDeviceGetHandleByIndex(number))
        if handle is None:
            return None
        # a Jetson of the Orin generation answers one of the two with "not supported"
        rates = _or_none(lambda: self._nvml.nvmlDeviceGetUtilizationRates(handle))
        memory = _or_none(lambda: self._nvml.nvmlDeviceGetMemoryInfo(handle))
        return Usage(
            device=str(number),
            busy=None if rates is None else rates.gpu / 100,
            memory=None if memory is None else int(memory.used),
            memory_limit=None if memory is None else int(memory.total),
        )


class Jetson:
    """A Jetson's own accelerator, by the files of its kernel: `load` is in tenths of a per cent."""

    def __init__(self, root: Path = DEVFREQ) -> None:
        """`root`: where the devices stand."""
        self._root = root

    def read(self) -> list[Usage]:
        """See `Probe.read`."""
        try:
            devices = sorted(self._root.iterdir())
        except OSError:
            return []
        return [usage for device in devices if (usage := _jetson_usage(device / "device"))]


def _jetson_usage(device: Path) -> Usage | None:
    try:
        name = (device / "of_node" / "name").read_text(encoding="ascii").strip("\0\n ")
        if not any(gpu in name for gpu in _JETSON_GPUS):
            return None
        load = int((device / "load").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return Usage(device=name, busy=load / 1000)


def probes(load: Callable[[str], Any] = importlib.import_module) -> list[Probe]:
    """What can tell something on this machine. `load`: imports a module by its name."""
    try:
        nvml = load("pynvml")
        nvml.nvmlInit()
    except Exception:  # no package, no driver, no device: each has an error of its own
        return [Jetson()]
    return [Nvml(nvml), Jetson()]


def _or_none(ask: Callable[[], R]) -> R | None:
    try:
        return ask()
    except Exception:  # whatever the driver raises, it does not tell
        return None
