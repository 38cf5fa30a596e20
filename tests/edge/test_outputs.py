"""A result file is whole or not there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tierocr.edge.outputs import write_whole
from tierocr.shared.errors import TierocrError


def failure(path: Path, content: bytes = b"text") -> TierocrError:
    with pytest.raises(TierocrError) as caught:
        write_whole(path, content)
    assert caught.value.code == "output_failed"
    assert str(path) in caught.value.message
    return caught.value


def test_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "c.txt"
    write_whole(target, "合计\n".encode())
    assert target.read_bytes() == "合计\n".encode()
    assert list(target.parent.iterdir()) == [target]


def test_an_older_result_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "c.txt"
    target.write_bytes(b"older and longer")
    with target.open("rb") as reader:
        write_whole(target, b"new")
        assert reader.read() == b"older and longer"  # who reads it sees one or the other
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_others_may_read_it_as_the_umask_says(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "c.txt", b"")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "c.txt").stat().st_mode) == mode


def test_a_folder_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "c.txt").mkdir()
    failure(tmp_path / "c.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["c.txt"]


def test_a_file_stands_where_a_folder_should(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a file")
    failure(tmp_path / "a" / "c.txt")
    failure(tmp_path / "a" / "b" / "c.txt")
    assert (tmp_path / "a").read_bytes() == b"a file"


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    failure(tmp_path / ("x" * 300))
    assert list(tmp_path.iterdir()) == []


def test_the_disk_refuses(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes(b"older")
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from tierocr.edge.outputs import write_whole\n"
        "from tierocr.shared.errors import TierocrError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole(Path(sys.argv[1]), bytes(5000))\n"
        "except TierocrError as error: print(error.code)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "c.txt")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("output_failed\n", "")
    assert [p.name for p in tmp_path.iterdir()] == ["c.txt"]
    assert (tmp_path / "c.txt").read_bytes() == b"older"
