from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import VARIABLE, find_pack, list_packs
from tierocr.shared.ocr.open import open_reader

MakePack = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_models_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_packs_of_the_installed_parts_are_found() -> None:
    found = list_packs()
    assert {"edge-tiny", "cloud-small"} <= found.keys()
    assert all((folder / "pack.yaml").is_file() for folder in found.values())
    assert find_pack("edge-tiny").name == "edge-tiny"


def test_given_folders_hide_the_environment_and_that_hides_the_parts(
    make_pack: MakePack, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = make_pack("edge-tiny", "given")
    first, second = make_pack("edge-tiny", "first"), make_pack("edge-tiny", "second")
    only = make_pack("only", "second")
    part = list_packs()["edge-tiny"]
    places = os.pathsep.join(["", str(first.parent), str(second.parent)])
    monkeypatch.setenv(VARIABLE, places)
    assert find_pack("edge-tiny").folder == first != part
    assert find_pack("edge-tiny", [given.parent]).folder == given
    assert find_pack("only", [given.parent]).folder == only
    assert "cloud-small" in list_packs([given.parent])


def test_the_first_of_several_given_folders_wins(make_pack: MakePack) -> None:
    one, two = make_pack("small", "one"), make_pack("small", "two")
    assert find_pack("small", [one.parent, two.parent]).folder == one
    assert find_pack("small", [two.parent, one.parent]).folder == two


def test_places_that_are_not_there_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    (tmp_path / "empty" / "no-pack").mkdir(parents=True)
    assert list_packs([tmp_path / "nowhere", tmp_path / "empty"]) == list_packs()


@pytest.mark.parametrize("name", ["edge-tny", "", "../edge-tiny"])
def test_an_unknown_pack_is_refused_with_those_found(name: str) -> None:
    with pytest.raises(TierocrError) as caught:
        find_pack(name)
    assert caught.value.code == "model_invalid"
    assert repr(name) in caught.value.message
    assert "edge-tiny" in caught.value.message and "cloud-small" in caught.value.message


def test_a_damaged_pack_does_not_hide_the_others(make_pack: MakePack) -> None:
    damaged = make_pack("damaged")
    (damaged / "pack.yaml").write_text("[", encoding="utf-8")
    assert find_pack("edge-tiny", [damaged.parent]).name == "edge-tiny"
    with pytest.raises(TierocrError) as caught:
        find_pack("damaged", [damaged.parent])
    assert caught.value.code == "model_invalid"


def test_a_reader_is_opened_by_name_or_refused() -> None:
    for pack, runtime, code in (
        ("nothing", "openvino", "model_invalid"),
        ("edge-tiny", "tensorrt", "model_invalid"),
    ):
        with pytest.raises(TierocrError) as caught:
            open_reader(pack, runtime=runtime)
        assert caught.value.code == code


def test_a_pack_whose_networks_are_none_is_refused(make_pack: MakePack) -> None:
    with pytest.raises(TierocrError) as caught:
        open_reader(find_pack("small", [make_pack().parent]))
    assert caught.value.code == "model_invalid"
    assert "detector.onnx" in caught.value.message or "recogniser.onnx" in caught.value.message
