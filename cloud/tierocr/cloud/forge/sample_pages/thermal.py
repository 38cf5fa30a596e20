"""A faded Chinese thermal receipt in bad light: hard on purpose, so that a small model slips."""

from __future__ import annotations

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import Ink, Sheet
from tierocr.cloud.forge.sample_pages.effects import (
    Generator,
    blur,
    grain,
    light,
    patches,
    skew,
    to_bytes,
)
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.numerals import figures
from tierocr.cloud.forge.sample_pages.till import Roll
from tierocr.shared.document import Pixels

PAPER: Ink = (226, 220, 206)
INK: Ink = (92, 88, 104)
_RIGHTS = (330, 415, 552)
_SHELF = (
    ("6900000100017", "山泉饮用水550ml", 200),
    ("6900000100024", "乌梅酸汤面(桶装)", 550),
    ("6900000100031", "原味苏打饼干", 680),
    ("6900000100048", "低脂酸牛奶200g", 450),
    ("6900000100055", "抽取式面巾纸", 1290),
    ("6900000100062", "薄荷口香糖", 390),
)


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The receipt, one page."""
    printed = _receipt(rng)
    faded = Sheet(pixels=_fade(printed.pixels, rng), lines=printed.lines)
    tilted = skew(faded, -0.9, PAPER)
    height, width = tilted.pixels.shape[:2]
    dim = light(blur(tilted.pixels, 0.8), patches(rng, (width, height), 4, 0.36, 0.62))
    return (Sheet(pixels=grain(dim, rng, 5.0), lines=tilted.lines),)


def _receipt(rng: Generator) -> Sheet:
    roll = Roll(600, 48, 33, PAPER, INK)
    text = load("mono-cjk", 21)
    roll.centre("乌有便利店", load("sans-bold", 32))
    roll.centre("南柯市槐安区蜃楼路店", text)
    roll.centre("客服电话：0000-5550167", text)
    roll.left(f"单号：NK0420310611{rng.integers(1000, 9999)}", text)
    roll.pair("日期：2031-06-11 22:07", "收银员：08", text)
    roll.rule()
    roll.cells(("商品名称", "单价", "数量", "小计"), _RIGHTS, text)
    total = count = 0
    for code, name, price in _SHELF:
        many = int(rng.integers(1, 5))
        roll.left(name, text)
        amounts = (figures(price), str(many), figures(many * price))
        roll.cells((code, *amounts), _RIGHTS, text)
        total, count = total + many * price, count + many
    roll.rule()
    roll.pair(f"合计件数：{count}", f"应收：{figures(total)}", text)
    roll.pair("会员优惠：-2.00", f"实收：{figures(total - 200)}", text)
    paid = -(-(total - 200) // 5000) * 5000
    roll.pair(f"现金：{figures(paid)}", f"找零：{figures(paid - total + 200)}", text)
    roll.left(f"会员卡号：8800****{rng.integers(1000, 9999)}", text)
    roll.left(f"本次积分：{total // 100}  累计积分：{rng.integers(200, 5000)}", text)
    roll.rule()
    roll.centre("商品如需退换，请于七日内凭小票办理", text)
    roll.centre("营业时间 06:30-24:00", text)
    return roll.tear()


def _fade(pixels: Pixels, rng: Generator) -> Pixels:
    """Let the ink vanish in patches and along the columns of worn heating dots."""
    height, width = pixels.shape[:2]
    paper = np.array(PAPER[::-1], dtype=np.float32)
    strength = patches(rng, (width, height), 5, 0.32, 0.95)
    for x in rng.integers(40, width - 40, 9):
        strength[:, int(x) : int(x) + 2] *= 0.25
    inked = pixels.astype(np.float32) - paper
    return to_bytes(np.asarray(paper + inked * strength[:, :, None], dtype=np.float32))
