"""Names on the command line -> inputs and output files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierocr.edge.inputs import ENDINGS, Input, expand, output_paths
from tierocr.shared.errors import TierocrError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scans, which is also the working directory."""
    for name in ("b.png", "a.JPG", "notes.txt", "sub/c.pdf", "sub/deep/d.TIFF", "sub/e.docx"):
        path = tmp_path / "scans" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*arguments: str) -> list[str]:
    return [item.name for item in expand(arguments)]


def code(*arguments: str) -> str:
    with pytest.raises(TierocrError) as caught:
        expand(arguments)
    return caught.value.code


def test_a_file_is_read_whatever_it_is_called(tree: Path) -> None:
    assert expand(["scans/notes.txt"]) == [Input(path=Path("scans/notes.txt"), name="notes.txt")]


def test_a_folder_gives_what_can_be_read_in_it(tree: Path) -> None:
    assert names("scans") == ["a.JPG", "b.png", "sub/c.pdf", "sub/deep/d.TIFF"]
    assert names(str(tree / "scans") + "/") == names("scans")


def test_every_known_kind_is_found(tree: Path) -> None:
    (tree / "all").mkdir()
    for ending in ENDINGS:
        (tree / "all" / f"x{ending}").touch()
    (tree / "all" / "folder.png").mkdir()
    assert names("all") == sorted(f"x{ending}" for ending in ENDINGS)


def test_patterns(tree: Path) -> None:
    assert names("scans/*.png") == ["b.png"]
    assert names("scans/*") == ["a.JPG", "b.png", "notes.txt"]  # folders are not entered
    assert names("scans/**/*.pdf") == ["sub/c.pdf"]
    assert names(f"{tree}/scans/*/*.pdf") == ["sub/c.pdf"]
    assert names("*/sub/*.pdf") == ["scans/sub/c.pdf"]


def test_a_name_that_looks_like_a_pattern(tree: Path) -> None:
    (tree / "scan[1].png").touch()
    assert names("scan[1].png") == ["scan[1].png"]


def test_order_is_kept_and_each_file_comes_once(tree: Path) -> None:
    (tree / "link.png").symlink_to(tree / "scans/b.png")
    found = expand(["scans/sub", "scans/b.png", "scans", "./scans/../scans/b.png", "link.png"])
    assert [i.name for i in found] == ["c.pdf", "deep/d.TIFF", "b.png", "a.JPG"]


def test_standard_input(tree: Path) -> None:
    assert expand(["-", "scans/b.png", "-"]) == [
        Input(path=None, name="stdin"),
        Input(path=Path("scans/b.png"), name="b.png"),
    ]


def test_nothing_there(tree: Path) -> None:
    (tree / "empty").mkdir()
    (tree / "dangling.png").symlink_to("nowhere")
    assert code("scans/b.png", "scans/z.png") == "not_found"
    assert code("scans/*.gif") == "not_found"
    assert code("dangling.png") == "not_found"
    assert code("empty") == "config_invalid"


@pytest.mark.parametrize("name", ["", "x" * 5000, "\x00"])
def test_what_can_be_no_name(tree: Path, name: str) -> None:
    assert code(name) == "not_found"  # above all not the whole working directory for ""


def test_outputs_keep_the_relative_path(tree: Path) -> None:
    out = Path("out")
    assert output_paths(expand(["scans"]), out, ".json") == {
        "a.JPG": out / "a.JPG.json",
        "b.png": out / "b.png.json",
        "sub/c.pdf": out / "sub/c.pdf.json",
        "sub/deep/d.TIFF": out / "sub/deep/d.TIFF.json",
    }


@pytest.mark.parametrize("other", ["B.png", "b.png"])
def test_two_inputs_for_one_output(tree: Path, other: str) -> None:
    (tree / "more").mkdir()
    (tree / "more" / other).touch()
    inputs = expand(["scans/b.png", f"more/{other}"])
    with pytest.raises(TierocrError) as caught:
        output_paths(inputs, Path("out"), ".txt")
    assert caught.value.code == "config_invalid"
    assert other in caught.value.message
