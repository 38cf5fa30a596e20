from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.models.rewriting import dump, read_values
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.tune import canary_page, choice_for, open_tuned, same_text, tune
from tierocr.shared.places import VARIABLE


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def changed(folder: Path, **entries: object) -> Pack:
    """The shipped pack with other entries in its manifest."""
    shutil.copytree(find_pack("edge-tiny").folder, folder)
    values = {**read_values(folder), **entries}
    (folder / "pack.yaml").write_text(dump(values), encoding="utf-8")
    return load_pack(folder)


def quiet(_: str) -> None:
    pass


def test_the_canary_page_is_read_as_it_was_stored() -> None:
    pack = find_pack("edge-tiny")
    assert pack.manifest.canary is not None
    page = open_tuned(pack).read(canary_page(pack)).page
    assert same_text(pack.manifest.canary.lines, [line.text for line in page.lines])


def test_tuning_measures_every_candidate_and_is_kept(cache: Path) -> None:
    pack = find_pack("edge-tiny")
    found = tune(pack, "openvino", note=quiet)
    assert {c.network for c in found.candidates} == {"detector", "recogniser"}
    assert all((c.milliseconds is None) != (c.rejected is None) for c in found.candidates)
    kept = json.loads((cache / "tuning" / "edge-tiny-openvino.json").read_text(encoding="utf-8"))
    assert kept["schema"] == "tierocr.tuning/1"
    choice = choice_for(pack, "openvino")
    assert choice.why == "the fastest of those measured here"
    reader = open_tuned(pack)
    assert reader.recogniser.engine.precision == choice.recogniser
    assert reader.detector.engine.precision == choice.detector
    assert list((cache / "compiled").iterdir())


def test_a_network_that_misreads_the_canary_is_out(cache: Path, tmp_path: Path) -> None:
    canary = find_pack("edge-tiny").manifest.canary
    assert canary is not None
    wrong = {"image": canary.image, "lines": ["something else", *canary.lines[1:]]}
    pack = changed(tmp_path / "edge-tiny", canary=wrong)
    found = tune(pack, "openvino", note=quiet)
    assert all(c.rejected and c.milliseconds is None for c in found.candidates)
    assert canary.lines[0] in (found.candidates[0].rejected or "")
    assert choice_for(pack, "openvino").recogniser == "f32"


def test_a_pack_without_a_canary_cannot_be_tuned(cache: Path, tmp_path: Path) -> None:
    pack = changed(tmp_path / "edge-tiny", canary=None)
    with pytest.raises(TierocrError) as caught:
        tune(pack, "openvino", note=quiet)
    assert caught.value.code == "model_invalid"


def test_without_a_folder_to_keep_it_in_nothing_is_measured() -> None:
    with pytest.raises(TierocrError) as caught:
        tune(find_pack("edge-tiny"), "openvino", note=quiet)
    assert caught.value.code == "output_failed"


def test_a_reader_runs_the_precision_that_was_asked_for() -> None:
    reader = open_tuned("edge-tiny", precision="f32")
    assert reader.info.precision == "f32"
    blank = np.full((60, 60, 3), 255, dtype=np.uint8)
    assert reader.recogniser.read([blank])[0].text == ""
