"""A Chinese electronic VAT invoice between two companies that do not exist."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import BLACK, Canvas, Ink, Sheet
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.numerals import capitals, figures

FRAME: Ink = (150, 78, 42)
SEAL: Ink = (205, 60, 52)
_LEFT, _RIGHT = 60, 1440
_COLUMNS = (60, 400, 560, 650, 760, 900, 1090, 1230, 1440)
_HEADINGS = ("项目名称", "规格型号", "单位", "数量", "单价", "金额", "税率/征收率", "税额")
# Name, model, unit, price in cents, tax rate in per cent.
_GOODS = (
    ("*文具*蚁穴牌中性笔", "0.5mm 黑", "盒", 1880, 13),
    ("*纸制品*复印纸", "A4 70g", "箱", 13250, 13),
    ("*电子设备*便携扫描仪", "YS-300B", "台", 86900, 13),
    ("*印刷品*《南柯风物志》", "平装 第2版", "册", 4560, 9),
    ("*信息服务*文档整理", "按页计费", "页", 35, 6),
)


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The invoice, one page."""
    canvas = Canvas(1500, 960)
    _head(canvas, rng)
    _parties(canvas)
    net, tax = _items(canvas, rng)
    _totals(canvas, net, tax)
    _foot(canvas)
    return (canvas.finish(),)


def _head(canvas: Canvas, rng: np.random.Generator) -> None:
    title = load("serif-bold", 40)
    canvas.text(750, 84, "电子发票（增值税专用发票）", title, "ms", FRAME)
    canvas.rule(480, 104, 1020, 104, FRAME, 2)
    canvas.rule(480, 110, 1020, 110, FRAME, 2)
    small = load("sans", 22)
    number = f"9931{rng.integers(10**7, 10**8)}{rng.integers(10**7, 10**8)}"
    canvas.runs(1060, 80, [("发票号码：", FRAME), (number, BLACK)], small)
    canvas.runs(1060, 116, [("开票日期：", FRAME), ("2031年03月18日", BLACK)], small)
    _code_square(canvas, rng, 70, 34)


def _code_square(canvas: Canvas, rng: np.random.Generator, x: int, y: int) -> None:
    """Looks like a two-dimensional code and says nothing."""
    cells = rng.random((25, 25)) < 0.5
    for row, column in ((0, 0), (0, 18), (18, 0)):
        cells[max(0, row - 1) : row + 8, max(0, column - 1) : column + 8] = False
        cells[row : row + 7, column : column + 7] = True
        cells[row + 1 : row + 6, column + 1 : column + 6] = False
        cells[row + 2 : row + 5, column + 2 : column + 5] = True
    for row, column in zip(*np.nonzero(cells), strict=True):
        left, top = x + 4 * int(column), y + 4 * int(row)
        canvas.box(left, top, left + 3, top + 3, fill=BLACK)


def _parties(canvas: Canvas) -> None:
    label, text = load("sans", 21), load("sans", 22)
    canvas.grid((_LEFT, 104, 750, 794, _RIGHT), (150, 306), FRAME, 2)
    parties = (
        (82, "购买方信息", "南柯市云上样例科技有限公司", "91990102MA0K3X7T2L"),
        (772, "销售方信息", "乌有县子虚办公用品商行", "92990418MA0Q8W5R4E"),
    )
    for x, role, name, tax_id in parties:
        canvas.column(x, 228, role, label, 28, FRAME)
        canvas.runs(x + 36, 200, [("名称：", FRAME), (name, BLACK)], text)
        identity = [("统一社会信用代码/纳税人识别号：", FRAME), (tax_id, BLACK)]
        canvas.runs(x + 36, 270, identity, text)


def _items(canvas: Canvas, rng: np.random.Generator) -> tuple[int, int]:
    """The table of goods; returns net and tax in cents."""
    head, cell = load("sans", 21), load("sans", 21)
    for left, right, name in zip(_COLUMNS, _COLUMNS[1:], _HEADINGS, strict=False):
        canvas.text((left + right) / 2, 336, name, head, "ms", FRAME)
    net = tax = 0
    for row, (name, model, unit, price, rate) in enumerate(_GOODS):
        count = int(rng.integers(2, 40)) * (20 if price < 100 else 1)
        amount = count * price
        duty = round(amount * rate / 100)
        net, tax = net + amount, tax + duty
        y = 376 + 42 * row
        canvas.text(72, y, name, cell)
        canvas.text(410, y, model, cell)
        canvas.text(605, y, unit, cell, "ms")
        numbers = (str(count), figures(price), figures(amount), f"{rate}%", figures(duty))
        for x, value in zip((750, 885, 1078, 1172, 1426), numbers, strict=True):
            canvas.text(x, y, value, cell, "rs")
    return net, tax


def _totals(canvas: Canvas, net: int, tax: int) -> None:
    text = load("sans", 22)
    canvas.text(230, 640, "合计", text, "ms", FRAME)
    canvas.text(1078, 640, f"¥{figures(net)}", text, "rs")
    canvas.text(1426, 640, f"¥{figures(tax)}", text, "rs")
    canvas.grid((_LEFT, _RIGHT), (306, 660, 722, 860), FRAME, 2)
    canvas.rule(400, 660, 400, 722, FRAME, 2)
    canvas.text(230, 700, "价税合计（大写）", text, "ms", FRAME)
    canvas.text(430, 700, capitals(net + tax), text)
    canvas.runs(1090, 700, [("（小写）", FRAME), (f"¥{figures(net + tax)}", BLACK)], text)


def _foot(canvas: Canvas) -> None:
    label, text = load("sans", 21), load("sans", 21)
    canvas.rule(104, 722, 104, 860, FRAME, 2)
    canvas.column(82, 791, "备注", label, 40, FRAME)
    canvas.text(124, 758, "销方开户银行：乌有县蜃楼银行槐安支行  账号：9900 0000 0012 3456", text)
    canvas.text(124, 796, "购方地址：南柯市槐安区蚁穴路18号4层  电话：0000-5550142", text)
    canvas.text(124, 834, "合同编号：NK-2031-0318/07，本页为演示样张，不作报销凭证。", text)
    canvas.runs(100, 906, [("开票人：", FRAME), ("甄有趣", BLACK)], text)
    canvas.ellipse(1240, 792, 120, 56, SEAL, 4)
    canvas.text(1240, 784, "演示样张", load("serif-bold", 30), "ms", SEAL)
    canvas.text(1240, 822, "非真实票据", load("serif-bold", 22), "ms", SEAL)
