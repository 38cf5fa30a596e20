"""Pages of Chinese and English lines with words that have places, for exporters."""

from __future__ import annotations

from collections.abc import Sequence

from tierocr.shared.document import Character, Line, Page, Region, Word
from tierocr.shared.geometry import rectangle

TEXTS = (
    "发票号码 No. 12345678",
    "合计（大写）：壹佰贰拾叁元整",
    "Total amount: 123.45 EUR",
    "备注 A&B <x> \"quoted\" 'single'",
    "𠮷野家 ① ㎡ 한글 かな",
)


def placed_line(text: str, x: float, y: float, height: float = 30.0) -> Line:
    """A line whose words stand in cells of equal width."""
    step = height * 0.6
    words, at = [], 0
    for part in text.split(" "):
        if part:
            left = x + at * step
            right = left + len(part) * step
            quad = rectangle(left, y, right, y + height)
            one = Character(text=part, quad=quad, score_raw=0.9, confidence=0.9)
            words.append(
                Word(text=part, quad=quad, score_raw=0.9, confidence=0.9, characters=(one,))
            )
        at += len(part) + 1
    quad = rectangle(x, y, x + len(text) * step, y + height)
    return Line(
        region=Region(quad=quad, score=0.9),
        text=text,
        score_raw=0.9,
        confidence=0.9,
        words=tuple(words),
    )


def text_page(texts: Sequence[str] = TEXTS, index: int = 0, *, dpi: float | None = 150.0) -> Page:
    """A page of these lines, one below the other."""
    lines = tuple(placed_line(text, 60, 80 + 70 * n) for n, text in enumerate(texts))
    return Page(index=index, width=1000, height=700, dpi=dpi, lines=lines)
