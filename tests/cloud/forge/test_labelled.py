from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.fakes.rendered import line_crop, page_of
from tierocr.cloud.forge.labelled import load_lines
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError

PAGE = page_of(["Total", "Tax"])
BOX = [[60, 52], [160, 52], [160, 86], [60, 86]]


def folder(place: Path, rows: Sequence[Any], pixels: Pixels = PAGE) -> Path:
    """A labelled folder whose only image is `images/a.png`."""
    (place / "images").mkdir()
    cv2.imwrite(str(place / "images/a.png"), pixels)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (place / "labels.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def row(lines: list[dict[str, Any]], kind: str = "form") -> dict[str, Any]:
    return {"image": "images/a.png", "lang": "en", "kind": kind, "lines": lines}


def failure(place: Path) -> TierocrError:
    with pytest.raises(TierocrError) as caught:
        list(load_lines(place))
    return caught.value


def test_lines_are_cut_from_their_boxes_with_a_small_margin(tmp_path: Path) -> None:
    boxed: dict[str, Any] = {"text": "Total", "box": BOX}
    (line,) = load_lines(folder(tmp_path, [row([boxed])]))
    assert line.text == "Total"
    height, width = line.image.shape[:2]
    assert 34 <= height <= 38 and 100 <= width <= 112
    assert line.image.min() < 50 and line.image.flags.c_contiguous


def test_a_tilted_box_is_cut_upright(tmp_path: Path) -> None:
    box = [[60, 40], [200, 60], [195, 95], [55, 75]]
    (line,) = load_lines(folder(tmp_path, [row([{"text": "Total", "box": box}])]))
    assert line.image.shape[1] > 3 * line.image.shape[0]


def test_lines_that_cannot_be_judged_are_left_out(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"text": "###", "box": BOX, "ignore": True},
        {"text": "two\nlines", "box": BOX, "multiline": True},
        {"text": "down", "box": BOX, "vertical": True},
        {"text": "nowhere", "box": None},
        {"text": " ", "box": BOX},
        {"text": "Total", "box": BOX, "ignore": False},
    ]
    assert [line.text for line in load_lines(folder(tmp_path, [row(lines)]))] == ["Total"]


def test_a_picture_of_one_line_is_taken_whole(tmp_path: Path) -> None:
    crop = line_crop("Total")
    place = folder(tmp_path, [row([{"text": "Total", "box": None}], kind="line")], crop)
    (line,) = load_lines(place)
    assert np.array_equal(line.image, crop)


def test_a_folder_without_labels_is_named(tmp_path: Path) -> None:
    error = failure(tmp_path)
    assert error.code == "not_found"
    assert str(tmp_path) in error.message and "labels.jsonl" in error.message


@pytest.mark.parametrize(
    "bad",
    ["{", "[]", "7", '{"image": "images/a.png"}', '{"lines": [{"box": null}], "kind": "line"}'],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, bad: str) -> None:
    good = row([{"text": "Total", "box": BOX}])
    error = failure(folder(tmp_path, [good, bad]))
    assert error.code == "bad_request"
    assert "labels.jsonl:2" in error.message


@pytest.mark.parametrize("box", [[[1, 2], [3, 4]], "none", [[1, 2, 3]] * 4, [["a", "b"]] * 4])
def test_a_bad_box_is_named_by_its_line(tmp_path: Path, box: Any) -> None:
    error = failure(folder(tmp_path, [row([{"text": "Total", "box": box}])]))
    assert error.code == "bad_request" and "labels.jsonl:1" in error.message


def test_a_missing_or_damaged_image_is_named(tmp_path: Path) -> None:
    place = folder(tmp_path, [row([{"text": "Total", "box": BOX}])])
    (place / "images/a.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
    assert failure(place).code == "bad_image" and "a.png" in failure(place).message
    (place / "images/a.png").unlink()
    assert failure(place).code == "not_found" and "a.png" in failure(place).message


def test_labels_without_a_line_to_cut_are_refused(tmp_path: Path) -> None:
    error = failure(folder(tmp_path, [row([{"text": "nowhere", "box": None}])]))
    assert error.code == "bad_request" and "no line" in error.message
