"""A bilingual loan-of-equipment form, as a grey office scanner delivers it: skewed, soft, dusty."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import BLACK, GREY, WHITE, Canvas, Sheet
from tierocr.cloud.forge.sample_pages.effects import (
    Generator,
    blur,
    grain,
    light,
    patches,
    skew,
    speckle,
)
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.wrapping import wrap
from tierocr.shared.document import Floats

_LEFT, _RIGHT = 120, 1120
_FIELDS = (
    ("申请人 Applicant", "贾如真", "部门 Department", "梦境测绘科"),
    ("工号 Staff No.", "NK-00731", "电话 Phone", "0000-5550188"),
    ("电邮 E-mail", "jia.ruzhen@nanke.example", "日期 Date", "2031-09-16"),
    ("用途 Purpose", "野外档案数字化", "期限 Period", "14天 / 14 days"),
)
_HEADINGS = ("序号 No.", "设备名称 Item", "编号 Asset ID", "数量 Qty", "状况 Condition")
_COLUMNS = (120, 220, 540, 750, 870, 1120)
_ITEMS = (
    ("便携扫描仪 Portable scanner", "EQ-2031-014", "良好 Good"),
    ("折叠三脚架 Tripod", "EQ-2029-207", "良好 Good"),
    ("移动电源 Power bank", "EQ-2030-118", "轻微划痕 Scratched"),
    ("防水相机包 Camera bag", "EQ-2028-052", "良好 Good"),
)
_TERMS = (
    "1. 借用人应妥善保管设备，如有损坏或遗失，须于24小时内书面报告。",
    "2. The borrower shall not lend the equipment to any third party without the prior "
    "written consent of the Equipment Office.",
    "3. 逾期未还者，自第3日起按每日20元计收延期费；累计逾期30日的，暂停借用资格。",
    "4. Batteries must be returned fully charged, together with all cables and manuals.",
)


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The scanned form, one page."""
    canvas = Canvas(1240, 1560)
    _head(canvas, rng)
    _applicant(canvas)
    _equipment(canvas, rng)
    _terms(canvas)
    _signatures(canvas)
    return (_scan(canvas.finish(), rng),)


def _head(canvas: Canvas, rng: Generator) -> None:
    canvas.text(620, 150, "设备借用申请表", load("sans-bold", 42), "ms")
    canvas.text(620, 200, "Equipment Loan Request Form", load("sans", 28), "ms")
    small = load("sans", 20)
    canvas.text(_LEFT, 248, "南柯市云上样例研究所 设备管理办公室", small, ink=GREY)
    canvas.text(_RIGHT, 248, f"表号 Ref. EL-{rng.integers(1000, 9999)}/31", small, "rs", GREY)
    canvas.rule(_LEFT, 262, _RIGHT, 262, BLACK, 3)


def _applicant(canvas: Canvas) -> None:
    label, value = load("sans", 21), load("serif", 23)
    canvas.text(_LEFT, 312, "一、申请人信息 Applicant details", load("sans-bold", 24))
    ys = [332 + 54 * row for row in range(len(_FIELDS) + 1)]
    canvas.grid((_LEFT, 310, 650, 850, _RIGHT), ys, BLACK, 2)
    for y, fields in zip(ys, _FIELDS, strict=False):
        for x, text, font in zip((134, 324, 664, 864), fields, (label, value) * 2, strict=True):
            canvas.text(x, y + 35, text, font)


def _equipment(canvas: Canvas, rng: Generator) -> None:
    canvas.text(_LEFT, 606, "二、借用设备清单 Equipment requested", load("sans-bold", 24))
    ys = [626 + 52 * row for row in range(len(_ITEMS) + 2)]
    canvas.grid(_COLUMNS, ys, BLACK, 2)
    for left, right, text in zip(_COLUMNS, _COLUMNS[1:], _HEADINGS, strict=False):
        canvas.text((left + right) / 2, ys[0] + 34, text, load("sans-bold", 20), "ms")
    font = load("sans", 20)
    for row, (name, asset, state) in enumerate(_ITEMS, start=1):
        y = ys[row] + 34
        canvas.text(170, y, str(row), font, "ms")
        canvas.text(232, y, name, font)
        canvas.text(645, y, asset, font, "ms")
        canvas.text(810, y, str(int(rng.integers(1, 6))), font, "ms")
        canvas.text(995, y, state, font, "ms")


def _terms(canvas: Canvas) -> None:
    canvas.text(_LEFT, 950, "三、借用条款 Terms of loan", load("sans-bold", 24))
    font, y = load("sans", 21), 994
    for term in _TERMS:
        for line in wrap(term, font, _RIGHT - _LEFT):
            canvas.text(_LEFT, y, line, font)
            y += 36
    for x, text, ticked in ((_LEFT, "同意 I agree", True), (400, "不同意 I do not agree", False)):
        canvas.box(x, y - 12, x + 20, y + 8, BLACK, 2)
        if ticked:
            canvas.rule(x + 4, y - 3, x + 9, y + 4, BLACK, 3)
            canvas.rule(x + 9, y + 4, x + 19, y - 14, BLACK, 3)
        canvas.text(x + 36, y + 6, text, font)


def _signatures(canvas: Canvas) -> None:
    font = load("sans", 21)
    for x, role in ((_LEFT, "申请人签字 Signature:"), (650, "批准人签字 Approved by:")):
        canvas.text(x, 1350, role, font)
        canvas.rule(x + 260, 1356, x + 460, 1356)
    canvas.text(620, 1450, "第1页 共1页 Page 1 of 1", load("sans", 18), "ms", GREY)


def _scan(sheet: Sheet, rng: Generator) -> Sheet:
    turned = skew(sheet, float(rng.uniform(1.6, 2.4)), WHITE)
    height, width = turned.pixels.shape[:2]
    field = patches(rng, (width, height), 4, 0.8, 0.95) * _book_edge(width)
    pixels = light(speckle(blur(turned.pixels, 0.9), rng, 260), field)
    return Sheet(pixels=grain(pixels, rng, 3.5), lines=turned.lines)


def _book_edge(width: int) -> Floats:
    """The shadow along the left where the lid does not close."""
    x = np.arange(width, dtype=np.float32)
    return np.asarray(1 - 0.35 * np.exp(-x / 28), dtype=np.float32)[None, :]
