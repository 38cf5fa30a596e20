"""Drawing primitives that remember what they wrote and where.

A canvas knows ink, fonts and coordinates, not what kind of page it carries. Coordinates are
continuous: pixel i covers i..i+1. Every text that is drawn becomes one line of truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from tierocr.cloud.forge.sample_pages.fonts import Font
from tierocr.shared.document import Pixels, Quad

Ink = tuple[int, int, int]
"""Red, green, blue."""

BLACK: Ink = (24, 24, 26)
GREY: Ink = (110, 110, 112)
WHITE: Ink = (255, 255, 255)

_SHIFTS = {"l": 0.0, "m": -0.5, "r": -1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLine:
    """A line as it was printed. `quad`: TL TR BR BL in reading direction."""

    text: str
    quad: Quad


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sheet:
    """Pixels (blue-green-red) and the lines printed on them."""

    pixels: Pixels
    lines: tuple[PrintedLine, ...]


def is_wide(text: str) -> bool:
    """Whether the text has ideographs or full-width signs."""
    return any(char >= "\u2e80" for char in text)


class Canvas:
    """A page being drawn."""

    def __init__(self, width: int, height: int, paper: Ink = WHITE) -> None:
        """Start an empty page."""
        self.width, self.height = width, height
        self._image = Image.new("RGB", (width, height), paper)
        self._draw = ImageDraw.Draw(self._image)
        self._lines: list[PrintedLine] = []

    def text(
        self, x: float, y: float, text: str, font: Font, anchor: str = "ls", ink: Ink = BLACK
    ) -> float:
        """Print one line at Pillow's `anchor`; returns its right edge."""
        return self.runs(x, y, [(text, ink)], font, anchor)

    def runs(
        self, x: float, y: float, parts: Sequence[tuple[str, Ink]], font: Font, anchor: str = "ls"
    ) -> float:
        """Print one line in several inks; returns its right edge."""
        text = "".join(part for part, _ in parts)
        # Placed on whole pixels from the left here, so that Pillow's own rounding has no say.
        start = round(x + _SHIFTS[anchor[0]] * font.getlength(text))
        base, anchor = round(y), "l" + anchor[1]
        pen = float(start)
        for part, ink in parts:
            self._draw.text((pen, base), part, font=font, fill=ink, anchor=anchor)
            pen += font.getlength(part)
        left, top, right, bottom = font.getbbox(text, anchor=anchor)
        # A line of dashes gets the height of a capital or an ideograph, as a reader would box it.
        _, low, _, high = font.getbbox("国" if is_wide(text) else "Hg", anchor=anchor)
        pad = max(1.0, font.size * 0.06)
        x0, x1 = start + left - pad, start + right + pad
        y0, y1 = base + min(top, low) - pad, base + max(bottom, high) + pad
        self._lines.append(PrintedLine(text=text, quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1))))
        return x1

    def column(
        self, x: float, y: float, text: str, font: Font, pitch: float, ink: Ink = BLACK
    ) -> None:
        """Print a vertical column centred on (x, y), characters `pitch` apart."""
        half = font.size * 0.56
        top = y - pitch * (len(text) - 1) / 2
        for index, char in enumerate(text):
            place = (round(x - font.getlength(char) / 2), round(top + index * pitch))
            self._draw.text(place, char, font=font, fill=ink, anchor="lm")
        y0, y1 = top - half, top + pitch * (len(text) - 1) + half
        quad = ((x + half, y0), (x + half, y1), (x - half, y1), (x - half, y0))
        self._lines.append(PrintedLine(text=text, quad=quad))

    def rule(
        self, x0: float, y0: float, x1: float, y1: float, ink: Ink = BLACK, width: int = 1
    ) -> None:
        """Draw a straight line."""
        self._draw.line([(x0, y0), (x1, y1)], fill=ink, width=width)

    def dashes(self, x0: float, x1: float, y: float, ink: Ink = BLACK, dash: int = 8) -> None:
        """Draw a dashed horizontal rule."""
        for x in range(round(x0), round(x1), 2 * dash):
            self.rule(x, y, min(x + dash, x1), y, ink, 2)

    def box(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        ink: Ink = BLACK,
        width: int = 1,
        fill: Ink | None = None,
    ) -> None:
        """Draw a rectangle."""
        self._draw.rectangle([x0, y0, x1, y1], outline=ink, width=width, fill=fill)

    def ellipse(self, x: float, y: float, rx: float, ry: float, ink: Ink, width: int = 2) -> None:
        """Draw an ellipse around (x, y)."""
        self._draw.ellipse([x - rx, y - ry, x + rx, y + ry], outline=ink, width=width)

    def grid(
        self, xs: Sequence[float], ys: Sequence[float], ink: Ink = BLACK, width: int = 1
    ) -> None:
        """Draw the lines of a table at these x and y."""
        for x in xs:
            self.rule(x, ys[0], x, ys[-1], ink, width)
        for y in ys:
            self.rule(xs[0], y, xs[-1], y, ink, width)

    def finish(self, height: int | None = None) -> Sheet:
        """The finished sheet, cut at `height`."""
        image = self._image.crop((0, 0, self.width, height or self.height))
        pixels = np.ascontiguousarray(np.asarray(image, dtype=np.uint8)[:, :, ::-1])
        return Sheet(pixels=pixels, lines=tuple(self._lines))
