from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.packs import write_pack
from tests.fakes.rendered import line_crop, page_of
from tierocr.cloud.forge.evaluation import read_lines, read_pages
from tierocr.cloud.forge.lines.exchange import save_pictures
from tierocr.cloud.forge.lines.folder import write_lines
from tierocr.cloud.forge.lines.generator import GeneratedLine
from tierocr.cloud.forge.lines_on_pages import holds
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import centre, rectangle
from tierocr.shared.models.store import find_pack

TEXTS = ["INVOICE 2031", "TOTAL 48.50", "Paid by card"]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "lines.npz"
    save_pictures(path, [(line_crop(text, thick=2), text) for text in TEXTS])
    return path


@pytest.mark.parametrize(("max_batch", "isa"), [(1, None), (8, "AVX2")])
def test_lines_are_read_in_their_order(lines: Path, max_batch: int, isa: str | None) -> None:
    pack = find_pack("edge-tiny").folder
    texts = read_lines(pack, lines, precision="f32", max_batch=max_batch, isa=isa)
    assert [text.replace(" ", "") for text in texts] == [text.replace(" ", "") for text in TEXTS]


def test_a_labelled_folder_is_read_like_a_file(tmp_path: Path) -> None:
    line = GeneratedLine(image=line_crop("TOTAL"), text="TOTAL", kind="number", medium="print")
    write_lines(tmp_path, [line])
    pack = find_pack("edge-tiny").folder
    assert read_lines(pack, tmp_path, precision="f32", max_batch=8) == ["TOTAL"]


def test_pages_are_read_with_places(tmp_path: Path) -> None:
    save_pictures(tmp_path / "pages.npz", [(page_of(["TOTAL 48.50"], height=200), "")])
    pack = find_pack("edge-tiny").folder
    ((line,),) = read_pages(pack, tmp_path / "pages.npz", detector="f32", recogniser="f32")
    assert line.text.replace(" ", "") == "TOTAL48.50"
    assert holds(rectangle(60, 40, 330, 90), centre(line.quad))


def test_the_reading_process_hands_its_error_back(tmp_path: Path, lines: Path) -> None:
    pack = write_pack(tmp_path / "pack")
    with pytest.raises(TierocrError, match="int8") as caught:
        read_lines(pack, lines, precision="int8", max_batch=1)
    assert caught.value.code == "model_invalid"
