from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tierocr.edge.sources.listing import list_files, read_file, signature_of
from tierocr.edge.sources.moving import delete, move_away, restore
from tierocr.edge.sources.watching import Signature
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits

GBK = os.fsdecode("扫描.jpg".encode("gbk"))
NFD = "u\u0308ber.png"


def put(folder: Path, name: str, data: bytes = b"data") -> tuple[Path, Signature]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path, signature_of(path.stat())


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = Path(mkdtemp(dir=shm))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["a.jpg", GBK, NFD, "sub/a.jpg"])
def test_files_are_moved(tmp_path: Path, name: str) -> None:
    path, signature = put(tmp_path / "in", name)
    moved = move_away(path, signature, tmp_path / "done", name)
    assert moved == tmp_path / "done" / name
    assert moved.read_bytes() == b"data" and not path.exists()


@pytest.mark.parametrize("name", ["a.jpg", GBK, NFD])
def test_files_are_moved_across_file_systems(tmp_path: Path, elsewhere: Path, name: str) -> None:
    path, signature = put(tmp_path / "in", name)
    moved = move_away(path, signature, elsewhere / "done", name)
    assert moved is not None and moved.read_bytes() == b"data" and not path.exists()
    assert signature_of(moved.stat()) == signature
    assert [p.name for p in moved.parent.iterdir()] == [name]


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    put(tmp_path / "done", "a.jpg", b"older")
    path, signature = put(tmp_path / "in", "a.jpg")
    moved = move_away(path, signature, tmp_path / "done", "a.jpg")
    assert moved is not None and moved.name == "a.2.jpg"
    assert (tmp_path / "done" / "a.jpg").read_bytes() == b"older"


def test_a_file_that_took_the_place_is_not_moved_nor_deleted(tmp_path: Path) -> None:
    path, _ = put(tmp_path / "in", "a.jpg", b"newer")
    old = Signature(size=1, mtime=1)
    assert move_away(path, old, tmp_path / "done", "a.jpg") is None
    assert not delete(path, old)
    assert path.read_bytes() == b"newer"
    assert list((tmp_path / "done").iterdir()) == []
    assert [p.name for p in path.parent.iterdir()] == ["a.jpg"]


def test_across_file_systems_neither(tmp_path: Path, elsewhere: Path) -> None:
    path, _ = put(tmp_path / "in", "a.jpg", b"newer")
    assert move_away(path, Signature(size=5, mtime=1), elsewhere, "a.jpg") is None
    assert path.read_bytes() == b"newer" and list(elsewhere.iterdir()) == []


def test_what_cannot_be_moved_stays(tmp_path: Path) -> None:
    path, signature = put(tmp_path / "in", "a.jpg")
    (tmp_path / "done").write_bytes(b"no folder")
    with pytest.raises(OSError):
        move_away(path, signature, tmp_path / "done", "a.jpg")
    assert path.exists()


def test_what_a_kill_has_left_gets_its_name_back(tmp_path: Path) -> None:
    put(tmp_path, ".tierocr-a.jpg", b"left")
    put(tmp_path, ".tierocr-b.jpg", b"left too")
    put(tmp_path, "b.jpg", b"new")
    put(tmp_path, "sub/.tierocr-" + GBK)
    put(tmp_path, ".other.jpg")
    (tmp_path / ".tierocr-link.jpg").symlink_to(tmp_path)
    assert len(restore(tmp_path, recursive=False)) == 2
    assert len(restore(tmp_path, recursive=True)) == 1
    assert (tmp_path / "a.jpg").read_bytes() == b"left"
    assert (tmp_path / "b.jpg").read_bytes() == b"new"
    assert (tmp_path / "b.2.jpg").read_bytes() == b"left too"
    assert (tmp_path / "sub" / GBK).exists() and (tmp_path / ".other.jpg").exists()


# -- looking -----------------------------------------------------------------------------------


def test_only_regular_files_that_are_read_are_listed(tmp_path: Path) -> None:
    wanted = {name: put(tmp_path, name)[1] for name in ("a.JPG", "b.pdf", GBK, NFD)}
    deep = put(tmp_path, "sub/c.png")[1]
    for name in ("a.txt", ".hidden.jpg", ".git/x.jpg", "jpg"):
        put(tmp_path, name)
    (tmp_path / "link.jpg").symlink_to(tmp_path / "b.pdf")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "folder.jpg").mkdir()
    assert list_files(tmp_path, recursive=False) == wanted
    assert list_files(tmp_path, recursive=True) == {**wanted, "sub/c.png": deep}
    with pytest.raises(OSError):
        list_files(tmp_path / "missing", recursive=True)


def test_bytes_are_only_given_while_the_file_is_as_it_was(tmp_path: Path) -> None:
    path, signature = put(tmp_path, "a.jpg", b"12345")
    limits = Limits(max_bytes=5)
    assert read_file(path, signature, limits) == b"12345"
    assert read_file(path, Signature(size=4, mtime=signature.mtime), limits) is None
    with pytest.raises(TierocrError):
        read_file(path, Signature(size=6, mtime=0), limits)
    path.unlink()
    os.mkfifo(path)
    assert read_file(path, signature, limits) is None
    path.unlink()
    path.symlink_to(tmp_path / "b.jpg")
    put(tmp_path, "b.jpg", b"12345")
    with pytest.raises(OSError):
        read_file(path, signature, limits)
