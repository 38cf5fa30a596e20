"""What the processor of this machine can do, as far as networks care."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ISA_VARIABLE = "ONEDNN_MAX_CPU_ISA"
"""The most that oneDNN's kernels may use of the processor, whatever it has."""

KERNELS = ("AVX512_CORE_AMX", "AVX512_CORE_VNNI", "AVX2")
"""Instruction sets with INT8 kernels of their own, by oneDNN's names, the widest first."""

GATED = ("AVX2", "AVX512_CORE_VNNI")
"""Those that INT8 artefacts are put through the accuracy gate with: without VNNI and with it. On
AMX INT8 gains nothing over bf16.
"""

_FLAGS = {
    "AVX2": "avx2",
    "AVX512_CORE_VNNI": "avx512_vnni",
    "AVX512_CORE_AMX": "amx_int8",
}
_AS_VNNI = ("AVX512_CORE_BF16", "AVX512_CORE_FP16")  # between VNNI and AMX: no INT8 of their own
_TOLD = ("avx2", "avx512_vnni", "avx512_bf16", "amx_int8")
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """`name` as the system tells it, and the instruction sets it has (Linux's flags)."""

    name: str
    flags: frozenset[str]

    def supports(self, isa: str) -> bool:
        """Whether it has an instruction set, by oneDNN's name.

        Asking oneDNN for more than the processor has is no error: it runs what there is. So a
        figure measured without asking first could carry the wrong name.
        """
        return _FLAGS[isa] in self.flags

    def int8_kernels(self, most: str | None = None) -> str | None:
        """The instruction set whose INT8 kernels run here, None where none is known.

        `most`: the value of `ISA_VARIABLE`, None when it is not set.
        """
        most = "AVX512_CORE_VNNI" if most in _AS_VNNI else most
        allowed = KERNELS[KERNELS.index(most) :] if most in KERNELS else KERNELS
        return next((isa for isa in allowed if self.supports(isa)), None)

    def describe(self) -> str:
        """For people: its name and the instruction sets that matter here."""
        have = [flag for flag in _TOLD if flag in self.flags]
        return f"{self.name} ({', '.join(have) or 'no AVX2'})"


def processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """This machine's; without flags where the system has no such file."""
    fields = _fields(cpuinfo)
    name = fields.get("model name") or platform.processor() or platform.machine()
    return Processor(name=name, flags=frozenset(fields.get("flags", "").split()))


def running_kernels(environment: Mapping[str, str] = os.environ) -> str | None:
    """The instruction set of the INT8 kernels that this process runs."""
    return processor().int8_kernels(environment.get(ISA_VARIABLE))


def gated_kernels() -> tuple[list[str], list[str]]:
    """(those of `GATED` that this processor has, those that it lacks)."""
    have = [isa for isa in GATED if processor().supports(isa)]
    return have, [isa for isa in GATED if isa not in have]


def _fields(cpuinfo: Path) -> dict[str, str]:
    """Name -> value of the first processor."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    return found
