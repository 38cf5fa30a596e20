from __future__ import annotations

import os
from pathlib import Path

import pytest

from tierocr.shared.engines.threads import _cgroup_limit, cpu_quota


def limit(
    folder: Path, *, v2: str | None = None, v1: tuple[str, str] | None = None
) -> float | None:
    """The limit that these files of a control group say."""
    if v2 is not None:
        (folder / "cpu.max").write_text(v2, encoding="ascii")
    if v1 is not None:
        (folder / "cpu").mkdir()
        (folder / "cpu" / "cpu.cfs_quota_us").write_text(v1[0], encoding="ascii")
        (folder / "cpu" / "cpu.cfs_period_us").write_text(v1[1], encoding="ascii")
    return _cgroup_limit(folder / "cpu.max", folder / "cpu")


@pytest.mark.parametrize(
    ("content", "cpus"),
    [
        ("200000 100000\n", 2.0),
        ("150000 100000", 1.5),
        ("50000 100000\n", 0.5),
        ("max 100000\n", None),
    ],
)
def test_version_two(tmp_path: Path, content: str, cpus: float | None) -> None:
    assert limit(tmp_path, v2=content) == cpus


@pytest.mark.parametrize(
    ("quota", "cpus"), [("400000\n", 4.0), ("25000", 0.25), ("-1\n", None), ("0", None)]
)
def test_version_one(tmp_path: Path, quota: str, cpus: float | None) -> None:
    assert limit(tmp_path, v1=(quota, "100000\n")) == cpus


def test_version_two_goes_first(tmp_path: Path) -> None:
    assert limit(tmp_path, v2="max 100000", v1=("300000", "100000")) is None


def test_no_control_group_no_limit(tmp_path: Path) -> None:
    assert limit(tmp_path) is None


@pytest.mark.parametrize("content", ["", "max", "many 100000", "1 2 3", "100000 0"])
def test_a_file_that_says_nothing_sensible_is_no_limit(tmp_path: Path, content: str) -> None:
    assert limit(tmp_path, v2=content) is None


def test_a_damaged_file_of_version_one_is_no_limit(tmp_path: Path) -> None:
    assert limit(tmp_path, v1=("many", "100000")) is None


def test_this_process_may_use_at_least_one_cpu_and_no_more_than_there_are() -> None:
    assert 1 <= cpu_quota() <= (os.cpu_count() or 1)
