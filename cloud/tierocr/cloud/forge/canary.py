"""A pack's canary page: clear print whose text every sound network reads without doubt.

    python -m tierocr.cloud.forge.canary PACK_FOLDER

Draws the page, lets the pack's FP32 networks read it, and writes picture and text into the pack.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2

from tierocr.cloud.forge.sample_pages.canvas import Canvas
from tierocr.cloud.forge.sample_pages.fonts import Typeface, load
from tierocr.shared.document import PageImage, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import digest, load_pack
from tierocr.shared.models.rewriting import dump, read_values
from tierocr.shared.ocr.open import open_reader

IMAGE = "canary.png"

SURE = 0.9
"""The least probability of any character: what is nearer to a tie may fall either way elsewhere."""

_WIDTH, _HEIGHT, _MARGIN = 720, 640, 40
_ROWS: tuple[tuple[Typeface, int, str], ...] = (
    ("sans-bold", 30, "设备检验记录单"),
    ("sans", 24, "编号 2031-0715 班组 第三车间"),
    ("sans", 22, "检验项目包括外观尺寸电压和温度"),
    ("serif", 24, "本次检验共计四十八台设备全部合格"),
    ("sans", 20, "负责人签字后交由档案室保存五年"),
    ("serif", 26, "Inspection record of the third workshop"),
    ("sans", 22, "Every instrument was tested before shipping"),
    ("mono", 20, "SERIAL NUMBER 4472-9035-1186"),
    ("sans", 22, "Temperature 23.5 Voltage 220 Current 16"),
    ("serif", 20, "Keep this sheet together with the machine"),
    ("mono-bold", 22, "PRICE 1,284.56 EUR"),
    ("sans", 18, "下次检验日期为二零三二年七月十五日"),
)


def draw() -> Pixels:
    """The page: (640, 720, 3) uint8 BGR. Raises TierocrError `not_found` without the fonts."""
    canvas = Canvas(_WIDTH, _HEIGHT)
    for row, (face, size, text) in enumerate(_ROWS):
        canvas.text(_MARGIN, 60 + 48 * row, text, load(face, size))
    return canvas.finish().pixels


def add_canary(folder: Path) -> tuple[str, ...]:
    """Write the canary page into a pack and return its lines.

    Raises TierocrError `model_invalid` when FP32 is not sure of every character.
    """
    done, png = cv2.imencode(
        ".png", cv2.cvtColor(draw(), cv2.COLOR_BGR2GRAY), [cv2.IMWRITE_PNG_COMPRESSION, 9]
    )
    assert done
    pixels: Pixels = cv2.imdecode(png, cv2.IMREAD_COLOR)  # type: ignore[assignment]
    page = open_reader(load_pack(folder)).read(PageImage(pixels=pixels)).page
    doubtful = [line.text for line in page.lines if line.score_raw < SURE]
    if doubtful or len(page.lines) != len(_ROWS):
        raise TierocrError("model_invalid", f"not fit for a canary: {doubtful or page.lines}")
    texts = tuple(line.text for line in page.lines)
    (folder / IMAGE).write_bytes(png.tobytes())
    values = read_values(folder)
    values["files"][IMAGE] = {"sha256": digest(folder / IMAGE)}
    values["canary"] = {"image": IMAGE, "lines": list(texts)}
    (folder / "pack.yaml").write_text(dump(values), encoding="utf-8", newline="\n")
    load_pack(folder).verify()
    return texts


if __name__ == "__main__":
    print("\n".join(add_canary(Path(sys.argv[1]))))
