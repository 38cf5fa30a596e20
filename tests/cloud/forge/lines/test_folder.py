from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.fakes.rendered import line_crop, page_of
from tierocr.cloud.forge.labelled import load_lines
from tierocr.cloud.forge.lines.__main__ import main
from tierocr.cloud.forge.lines.folder import write_lines, write_pages
from tierocr.cloud.forge.lines.generator import GeneratedLine
from tierocr.cloud.forge.sample_pages.canvas import PrintedLine, Sheet
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import rectangle

LINES = [
    GeneratedLine(image=line_crop(text), text=text, kind="number", medium="print")
    for text in ("12.50", "单价 3")
]


def test_lines_come_back_as_they_were(tmp_path: Path) -> None:
    assert write_lines(tmp_path / "out", LINES) == 2
    back = list(load_lines(tmp_path / "out"))
    assert [line.text for line in back] == ["12.50", "单价 3"]
    for line, written in zip(back, LINES, strict=True):
        assert np.array_equal(line.image, written.image)


def test_a_page_has_one_row_with_its_boxes(tmp_path: Path) -> None:
    quad = rectangle(60, 50, 200, 90)
    sheet = Sheet(pixels=page_of(["Total"]), lines=(PrintedLine(text="Total", quad=quad),))
    assert write_pages(tmp_path, [sheet]) == 1
    row = json.loads((tmp_path / "labels.jsonl").read_text(encoding="utf-8"))
    assert row["lines"] == [{"text": "Total", "box": [[60, 50], [200, 50], [200, 90], [60, 90]]}]
    assert (row["image"], row["lang"], row["kind"]) == ("images/000000.png", "en", "page")
    stored = np.asarray(cv2.imread(str(tmp_path / row["image"])))
    assert np.array_equal(stored, sheet.pixels)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TierocrError, match="file") as caught:
        write_lines(tmp_path / "file", LINES)
    assert caught.value.code == "output_failed"


@pytest.mark.usefixtures("installed_fonts")
@pytest.mark.parametrize("option", [[], ["--pages"]])
def test_the_command_writes_a_labelled_folder(
    tmp_path: Path,
    option: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["lines", str(tmp_path / "out"), "--seed", "3", "--count", "2", *option]
    monkeypatch.setattr("sys.argv", arguments)
    assert main() == 0
    assert "2 images" in capsys.readouterr().out
    assert len(list(load_lines(tmp_path / "out"))) >= 2
