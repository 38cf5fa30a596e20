"""A paper roll that is printed from the top down; shared by all receipts. Knows no shop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierocr.cloud.forge.sample_pages.canvas import BLACK, Canvas, Ink, Sheet
from tierocr.cloud.forge.sample_pages.fonts import Font

_LONGEST = 3000


class Roll:
    """A receipt being printed: a canvas and how far the paper has been fed."""

    def __init__(self, width: int, margin: int, leading: int, paper: Ink, ink: Ink = BLACK) -> None:
        """Load a roll of `width` pixels that feeds `leading` pixels a line."""
        self.canvas = Canvas(width, _LONGEST, paper)
        self.margin, self.leading, self.ink = margin, leading, ink
        self._y = margin

    @property
    def _right(self) -> int:
        return self.canvas.width - self.margin

    def feed(self, pixels: int) -> None:
        """Leave white space."""
        self._y += pixels

    def centre(self, text: str, font: Font) -> None:
        """Print a centred line."""
        self._advance(font)
        self.canvas.text(self.canvas.width / 2, self._y, text, font, "ms", self.ink)

    def left(self, text: str, font: Font, indent: int = 0) -> None:
        """Print a line from the left margin."""
        self._advance(font)
        self.canvas.text(self.margin + indent, self._y, text, font, "ls", self.ink)

    def pair(self, left: str, right: str, font: Font, indent: int = 0) -> None:
        """Print something on the left and an amount on the right."""
        self.left(left, font, indent)
        self.canvas.text(self._right, self._y, right, font, "rs", self.ink)

    def cells(self, texts: Sequence[str], rights: Sequence[int], font: Font) -> None:
        """Print the first text from the margin, the others to end at the x of `rights`."""
        self.left(texts[0], font)
        for text, right in zip(texts[1:], rights, strict=True):
            self.canvas.text(right, self._y, text, font, "rs", self.ink)

    def rule(self) -> None:
        """Print a dashed rule across the paper."""
        self._y += round(self.leading * 0.6)
        self.canvas.dashes(self.margin, self._right, self._y, self.ink)
        self._y += round(self.leading * 0.1)

    def bars(self, rng: np.random.Generator, number: str, font: Font) -> None:
        """Print something like a bar code, with its number below."""
        self._y += self.leading // 2
        width = min(380, self._right - self.margin)
        x, end = (self.canvas.width - width) // 2, (self.canvas.width + width) // 2
        while x < end - 4:
            bar = int(rng.integers(1, 4)) * 2
            self.canvas.box(x, self._y, x + bar - 1, self._y + 70, self.ink, fill=self.ink)
            x += bar + int(rng.integers(1, 4)) * 2
        self._y += 76
        self.centre(number, font)

    def tear(self) -> Sheet:
        """Cut the paper off."""
        return self.canvas.finish(self._y + self.margin)

    def _advance(self, font: Font) -> None:
        self._y += max(self.leading, round(font.size * 1.3))
