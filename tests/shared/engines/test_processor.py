from __future__ import annotations

from pathlib import Path

import pytest

from tierocr.shared.engines.processor import Processor, processor, running_kernels

CPUINFO = """processor\t: 0
model name\t: Some CPU @ 2.0GHz
flags\t\t: fpu sse avx2 avx512_vnni

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""


def having(*flags: str) -> Processor:
    return Processor(name="some", flags=frozenset(flags))


def test_the_first_processor_counts(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(CPUINFO, encoding="utf-8")
    found = processor(file)
    assert found.name == "Some CPU @ 2.0GHz"
    assert found.supports("AVX2") and found.supports("AVX512_CORE_VNNI")
    assert found.describe() == "Some CPU @ 2.0GHz (avx2, avx512_vnni)"


def test_a_system_without_the_file_has_a_name_and_no_flags(tmp_path: Path) -> None:
    found = processor(tmp_path / "missing")
    assert found.name and found.flags == frozenset()
    assert found.int8_kernels() is None
    assert found.describe().endswith("(no AVX2)")


@pytest.mark.parametrize(
    ("flags", "most", "kernels"),
    [
        (("avx2", "avx512_vnni"), None, "AVX512_CORE_VNNI"),
        (("avx2", "avx512_vnni"), "AVX512_CORE_VNNI", "AVX512_CORE_VNNI"),
        (("avx2", "avx512_vnni"), "AVX2", "AVX2"),
        (("avx2", "avx512_vnni"), "AVX512_CORE_AMX", "AVX512_CORE_VNNI"),
        (("avx2", "avx512_vnni", "amx_int8"), None, "AVX512_CORE_AMX"),
        (("avx2", "avx512_vnni", "amx_int8"), "AVX512_CORE_BF16", "AVX512_CORE_VNNI"),
        (("avx2",), "AVX512_CORE_VNNI", "AVX2"),
        (("avx2",), None, "AVX2"),
        ((), None, None),
    ],
)
def test_kernels_are_what_the_processor_has_and_the_variable_allows(
    flags: tuple[str, ...], most: str | None, kernels: str | None
) -> None:
    assert having(*flags).int8_kernels(most) == kernels


def test_the_variable_is_looked_at() -> None:
    allowed = running_kernels({"ONEDNN_MAX_CPU_ISA": "AVX2"})
    assert allowed in ("AVX2", None)
