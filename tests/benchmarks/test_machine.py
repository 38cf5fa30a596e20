from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import fingerprint, package_versions, parse_cpuinfo, revision

X86 = """processor\t: 0
model\t\t: 17
model name\t: Some CPU 9000 @ 2.00GHz
flags\t\t: fpu sse2 avx2 avx512_vnni amx_tile amx_int8 f16c

processor\t: 1
model name\t: another
"""
ARM = "processor\t: 0\nFeatures\t: fp asimd asimddp i8mm bf16\nCPU part\t: 0xd0c\n"


def test_cpuinfo_gives_the_model_and_the_flags_that_matter() -> None:
    model, flags = parse_cpuinfo(X86)
    assert model == "Some CPU 9000 @ 2.00GHz"
    assert flags == ["avx2", "avx512_vnni", "amx_tile", "amx_int8"]
    assert parse_cpuinfo(ARM) == ("", ["asimddp", "i8mm", "bf16"])
    assert parse_cpuinfo("") == ("", [])


def test_a_fingerprint_works_with_and_without_proc(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(X86, encoding="utf-8")
    assert fingerprint(proc=tmp_path)["cpu"] == "Some CPU 9000 @ 2.00GHz"
    found = fingerprint(["numpy"], proc=tmp_path / "none")
    assert found["cpu"] and found["cpu_flags"] == []
    assert found["cores_allowed"] >= 1 and found["memory_bytes"] > 0
    assert len(found["load_before"]) == 3
    assert list(found["packages"]) == ["numpy"]


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert package_versions(["no-such-package-at-all"]) == {}


def test_the_revision_says_whether_files_differ_from_it() -> None:
    answers = {"rev-parse": "a" * 40 + "\n", "status": ""}

    def run(command: Sequence[str]) -> str:
        return answers[command[1]]

    assert revision(run) == "a" * 40
    answers["status"] = " M some/file.py\n"
    assert revision(run) == "a" * 40 + "+changes"


def test_without_git_the_revision_is_unknown() -> None:
    def missing(command: Sequence[str]) -> str:
        raise FileNotFoundError(command[0])

    def failing(command: Sequence[str]) -> str:
        raise subprocess.CalledProcessError(128, list(command))

    assert revision(missing) == revision(failing) == "unknown"
