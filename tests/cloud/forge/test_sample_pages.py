from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tierocr.cloud.forge.sample_pages import dense, fonts, receipt_photo, thermal
from tierocr.cloud.forge.sample_pages.canvas import Canvas, Sheet
from tierocr.cloud.forge.sample_pages.catalogue import SAMPLES
from tierocr.cloud.forge.sample_pages.effects import quarter_turn, skew
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.numerals import capitals, figures, grouped
from tierocr.cloud.forge.sample_pages.wrapping import wrap
from tierocr.cloud.forge.sample_pages.writer import write_sample
from tierocr.shared.document import Quad
from tierocr.shared.errors import TierocrError

Draw = Callable[[np.random.Generator], tuple[Sheet, ...]]


@pytest.fixture
def installed_fonts() -> None:
    try:
        load("sans", 10), load("mono", 10)
    except TierocrError as error:
        pytest.skip(error.message)


def _ink(sheet: Sheet, quad: Quad) -> tuple[float, float]:
    """The mean darkness inside an axis-parallel hull of the quad, and of the whole sheet."""
    xs, ys = [round(x) for x, _ in quad], [round(y) for _, y in quad]
    inside = sheet.pixels[min(ys) : max(ys), min(xs) : max(xs)]
    return 255 - float(inside.mean()), 255 - float(sheet.pixels.mean())


@pytest.mark.parametrize(
    ("cents", "text"),
    [
        (0, "零元整"),
        (5, "伍分"),
        (1_000_000, "壹万元整"),
        (100_530, "壹仟零伍元叁角整"),
        (1_005_007, "壹万零伍拾元零柒分"),
        (1_952_923, "壹万玖仟伍佰贰拾玖元贰角叁分"),
        (10_000_000_500, "壹亿零伍元整"),
        (2_030_040_000, "贰仟零叁拾万零肆佰元整"),
    ],
)
def test_capital_numerals(cents: int, text: str) -> None:
    assert capitals(cents) == text


def test_figures() -> None:
    assert (figures(123_405), grouped(123_405)) == ("1234.05", "1,234.05")


@pytest.mark.usefixtures("installed_fonts")
def test_wrapping_loses_nothing_and_starts_no_line_with_a_full_stop() -> None:
    text = "感谢您选用南柯牌（NK-31）净化器，适用面积为18～32平方米。请先阅读 the manual，谢谢！"
    for width in range(60, 200, 7):
        lines = wrap(text, load("sans", 10), width)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not any(line[0] in "，。！）" or line[-1] == "（" for line in lines)


@pytest.mark.usefixtures("installed_fonts")
def test_truth_follows_the_ink_through_skew_and_turn() -> None:
    canvas = Canvas(400, 300)
    canvas.text(60, 80, "发票 Invoice", load("sans", 24))
    sheet = canvas.finish()
    for moved in (sheet, skew(sheet, 2.0, (255, 255, 255)), quarter_turn(sheet)):
        inside, everywhere = _ink(moved, moved.lines[0].quad)
        assert inside > 10 * everywhere


@pytest.mark.usefixtures("installed_fonts")
def test_a_quarter_turn_makes_the_text_run_down() -> None:
    canvas = Canvas(400, 300)
    canvas.text(60, 80, "Invoice", load("sans", 24))
    (x0, y0), (x1, y1), *_ = quarter_turn(canvas.finish()).lines[0].quad
    assert math.isclose(x0, x1) and y1 > y0


@pytest.mark.usefixtures("installed_fonts")
@pytest.mark.parametrize("draw", [dense.draw, receipt_photo.draw, thermal.draw])
def test_every_line_lies_on_the_page(draw: Draw) -> None:
    (sheet,) = draw(np.random.default_rng(11))
    height, width = sheet.pixels.shape[:2]
    corners = np.array([line.quad for line in sheet.lines])
    assert corners.min() >= 0
    assert corners[..., 0].max() <= width and corners[..., 1].max() <= height


@pytest.mark.usefixtures("installed_fonts")
@pytest.mark.parametrize("name", ["dense_print_zh.png", "low_light_zh.jpg"])
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    sample = next(sample for sample in SAMPLES if sample.name == name)
    written = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        path = write_sample(sample, folder, seed=7)
        written.append((path.read_bytes(), (folder / f"{name}.truth.json").read_bytes()))
    assert written[0] == written[1]
    assert json.loads(written[0][1])["image"] == name


@pytest.mark.usefixtures("installed_fonts")
def test_another_seed_gives_another_page(tmp_path: Path) -> None:
    sample = next(sample for sample in SAMPLES if sample.name == "dense_print_zh.png")
    one = write_sample(sample, tmp_path, seed=7).read_bytes()
    assert write_sample(sample, tmp_path, seed=8).read_bytes() != one


def test_a_missing_font_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_installed", dict)
    load.cache_clear()
    with pytest.raises(TierocrError, match="fonts-noto-cjk") as caught:
        load("serif", 13)
    assert caught.value.code == "not_found"
