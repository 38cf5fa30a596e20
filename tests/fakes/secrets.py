"""Generated pages with something on them that must not leave, misread as the edge may misread it.

A page is noise that is never quite white, so whatever is not painted over shows. What is written on
it, and where, is known here and not taken from what the edge finds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from tests.fakes.lines import read_line
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.shared.document import Line, Page, PageImage, Point, Quad
from tierocr.shared.geometry import as_quad, rectangle

LABELS = ("姓名", "身份证号码", "Name", "Card number", "住址")
_WORDS = (
    *("总计", "收款", "日期", "商品", "小票", "谢谢", "欢迎", "再来"),
    *("merci", "lovely", "paper", "green", "apple", "window"),
)
_ODD = "人口了工土上下xkvwyuj?*%#"
_WIDTH, _HEIGHT = 800, 700


@dataclass(kw_only=True)
class SecretPage:
    """`secret`: what must not be seen, as polygons. `told`: what must not be told, as the edge
    read it.
    """

    image: PageImage
    page: Page
    secret: list[tuple[Point, ...]]
    told: list[str]
    settings: PrivacySettings


@dataclass
class _Layout:
    draw: random.Random
    tilt: float
    lines: list[Line] = field(default_factory=list)
    secret: list[tuple[Point, ...]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def put(self, text: str, left: float, top: float, height: float, secret: str = "") -> float:
        """Write a line that may hold something secret; returns where it ends."""
        right = left + max(height, 0.6 * height * len(text))
        quad = self._tilted(rectangle(left, top, right, top + height))
        self.lines.append(read_line(text, 0.2, quad=quad))
        if secret:
            self.secret.append(quad)
            self.told.append(secret)
        return right

    def _tilted(self, quad: Quad) -> Quad:
        turn = cv2.getRotationMatrix2D((_WIDTH / 2, _HEIGHT / 2), self.tilt, 1.0)
        return as_quad(np.c_[np.asarray(quad), np.ones(4)] @ turn.T)


def secret_page(seed: int) -> SecretPage:
    """One page; the same seed gives the same page."""
    draw = random.Random(seed)
    layout = _Layout(draw, draw.choice((0.0, 0.0, draw.uniform(-4, 4))))
    top, height = 60.0, draw.choice((18.0, 26.0, 38.0, 120.0))
    pitch = height * draw.uniform(1.0, 1.7)
    while top + 3 * pitch < _HEIGHT - 60:
        top += pitch * draw.choice((_filler, _filler, _labelled, _number, _pieces))(
            layout, top, height, pitch
        )
    zone = (
        sorted(draw.uniform(0.05, 0.95) for _ in range(2)),
        sorted(draw.uniform(0.05, 0.95) for _ in range(2)),
    )
    box = (zone[0][0], zone[1][0], zone[0][1], min(zone[1][1], zone[1][0] + 0.1))
    layout.secret.append(
        rectangle(box[0] * _WIDTH, box[1] * _HEIGHT, box[2] * _WIDTH, box[3] * _HEIGHT)
    )
    noise = np.random.default_rng(seed).integers(0, 200, (_HEIGHT // 4, _WIDTH // 4, 3), np.uint8)
    draw.shuffle(layout.lines)
    return SecretPage(
        image=PageImage(pixels=np.ascontiguousarray(noise.repeat(4, 0).repeat(4, 1))),
        page=Page(index=0, width=_WIDTH, height=_HEIGHT, lines=tuple(layout.lines)),
        secret=layout.secret,
        told=layout.told,
        settings=PrivacySettings.model_validate(
            {
                "allow": "pages",
                "zones": [{"box": box}],
                "labels": LABELS,
                "patterns": ["cn_id", "bank_card", "phone_cn"],
            }
        ),
    )


def misread(text: str, wrong: int, draw: random.Random) -> str:
    """The text with so many characters that are another, missing or too many."""
    for _ in range(wrong):
        at = draw.randrange(len(text))
        kind = draw.random()
        odd = draw.choice(_ODD)
        text = (
            text[:at]
            + ("" if kind < 0.2 else odd if kind < 0.8 else odd + text[at])
            + text[at + 1 :]
        )
    return text


def number(draw: random.Random) -> str:
    """An identity, card or telephone number; no check digit is right but by chance."""
    digits = [draw.choice("0123456789") for _ in range(19)]
    if (kind := draw.randrange(3)) == 0:
        born = f"{draw.randint(1930, 2020)}{draw.randint(1, 12):02}{draw.randint(1, 28):02}"
        return "".join(digits[:6]) + born + "".join(digits[:3]) + draw.choice("0123456789X")
    if kind == 1:
        card = "".join(digits[: draw.randint(13, 19)])
        return draw.choice((card, " ".join(card[i : i + 4] for i in range(0, len(card), 4))))
    return "1" + draw.choice("3456789") + "".join(digits[:9])


def _filler(layout: _Layout, top: float, height: float, pitch: float) -> int:
    words = layout.draw.choices(_WORDS, k=layout.draw.randint(1, 4))
    layout.put(" ".join(words), layout.draw.uniform(40, 300), top, height)
    return 1


def _labelled(layout: _Layout, top: float, height: float, pitch: float) -> int:
    """A label with its value in the same line, behind it, or under it."""
    draw = layout.draw
    label, left = draw.choice(LABELS), draw.uniform(40, 200)
    value = "".join(draw.choices("赵钱孙李周吴郑王冯陈", k=3))
    wrong = 2 if len(label) > 5 else 1 if len(label) > 2 else 0
    read = misread(label, draw.randint(0, wrong), draw)
    where = draw.randrange(3)
    if where == 0:
        layout.put(f"{read}: {value}", left, top, height, value)
        return 1
    end = layout.put(read, left, top, height)
    if where == 1:
        layout.put(value, end + draw.uniform(0.2, 6) * height, top, height, value)
        return 1
    layout.put(value, left, top + pitch, height, value)
    return 2


def _number(layout: _Layout, top: float, height: float, pitch: float) -> int:
    draw = layout.draw
    secret = misread(number(draw), draw.randint(0, 2), draw)
    text = f"{draw.choice(_WORDS)} {secret}" if draw.random() < 0.5 else secret
    layout.put(text, draw.uniform(40, 200), top, height, secret)
    return 1


def _pieces(layout: _Layout, top: float, height: float, pitch: float) -> int:
    """A number that was found as several regions."""
    draw = layout.draw
    text = misread(number(draw).replace(" ", ""), draw.randint(0, 2), draw)
    left, size = draw.uniform(40, 120), draw.randint(4, 7)
    for piece in _cut(text, size):
        left = layout.put(piece, left, top, height, text)
        left += draw.uniform(0.3, 1.5) * height
    return 1


def _cut(text: str, size: int) -> Sequence[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
