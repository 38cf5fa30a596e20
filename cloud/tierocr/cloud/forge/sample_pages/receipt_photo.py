"""A bilingual tea-room bill on a wooden table, photographed askew with the camera on its side."""

from __future__ import annotations

import cv2
import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import Ink, Sheet
from tierocr.cloud.forge.sample_pages.effects import (
    blur,
    grain,
    light,
    patches,
    quarter_turn,
    to_bytes,
    to_quad,
    warp,
)
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.cloud.forge.sample_pages.numerals import figures
from tierocr.cloud.forge.sample_pages.till import Roll
from tierocr.shared.document import Floats, Pixels, Quad

PAPER: Ink = (244, 242, 234)
INK: Ink = (52, 50, 56)
_FRAME = (960, 1320)
_CORNERS: Quad = ((196, 92), (742, 64), (802, 1246), (160, 1218))
_MENU = (
    ("云雾绿茶", "Cloud green tea", 3200),
    ("桂花乌龙", "Osmanthus oolong", 3600),
    ("芝麻酥", "Sesame crisps", 1500),
    ("小笼包(6)", "Soup dumplings", 2800),
    ("红豆糕", "Red bean cake", 1800),
)


def draw(rng: np.random.Generator) -> tuple[Sheet, ...]:
    """The photograph, one page, its top on the right."""
    paper = _bill(rng)
    height, width = paper.pixels.shape[:2]
    matrix = to_quad(width, height, _CORNERS)
    placed = warp(paper, matrix, _FRAME, PAPER)
    cover = cv2.warpPerspective(np.ones((height, width), np.float32), matrix, _FRAME)
    scene = _on_table(placed.pixels, np.asarray(cover, dtype=np.float32), rng)
    lit = light(scene, patches(rng, _FRAME, 3, 0.62, 1.06))
    return (quarter_turn(Sheet(pixels=grain(blur(lit, 0.9), rng, 3.0), lines=placed.lines)),)


def _bill(rng: np.random.Generator) -> Sheet:
    roll = Roll(600, 36, 40, PAPER, INK)
    text, small = load("sans", 26), load("mono", 22)
    roll.feed(10)
    roll.centre("纸灯笼茶室", load("serif-bold", 44))
    roll.centre("PAPER LANTERN TEA ROOM", load("mono-bold", 26))
    roll.centre("南柯市槐安区月影巷7号", text)
    roll.feed(12)
    roll.pair("桌号 Table: 12", "人数 Guests: 3", text)
    roll.pair("2031-05-02 15:28", f"No. {rng.integers(10000, 99999)}", small)
    roll.rule()
    roll.cells(("品名 Item", "数量 Qty", "金额 CNY"), (420, 564), text)
    total = 0
    for chinese, english, price in _MENU:
        many = int(rng.integers(1, 4))
        roll.cells((chinese, str(many), figures(many * price)), (420, 564), text)
        roll.left(english, small, indent=12)
        total += many * price
    roll.rule()
    roll.pair("小计 Subtotal", figures(total), text)
    roll.pair("茶位费 Cover charge", "9.00", text)
    roll.feed(14)
    roll.pair("合计 TOTAL", f"¥{figures(total + 900)}", load("sans-bold", 34))
    roll.feed(6)
    roll.pair("付款方式 Paid by", "现金 Cash", text)
    roll.rule()
    roll.centre("谢谢惠顾，欢迎再来！", text)
    roll.centre("Wi-Fi: lantern-guest / moonlight88", small)
    return roll.tear()


def _on_table(paper: Pixels, cover: Floats, rng: np.random.Generator) -> Pixels:
    shadow = cv2.GaussianBlur(cover, (0, 0), 14)
    shadow = np.roll(shadow, (12, 16), axis=(0, 1))[:, :, None]
    table = _wood(rng) * (1 - 0.55 * shadow)
    mask = cover[:, :, None]
    return to_bytes(np.asarray(table * (1 - mask) + paper * mask, dtype=np.float32))


def _wood(rng: np.random.Generator) -> Floats:
    """Streaks along the boards, blue-green-red."""
    width, height = _FRAME
    streaks = rng.normal(0.0, 1.0, (height, width)).astype(np.float32)
    streaks = np.asarray(cv2.GaussianBlur(streaks, (0, 0), sigmaX=90, sigmaY=2.2), np.float32)
    tone = 1 + 0.16 * streaks / streaks.std()
    boards = np.where(np.arange(height) % 330 < 4, 0.45, 1.0).astype(np.float32)
    colour = np.array([52, 84, 122], dtype=np.float32)
    return np.asarray(tone[:, :, None] * boards[:, None, None] * colour, dtype=np.float32)
