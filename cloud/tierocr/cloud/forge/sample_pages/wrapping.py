"""Breaks a paragraph into lines of a given width: line-break rules only, nothing is drawn."""

from __future__ import annotations

import re

from tierocr.cloud.forge.sample_pages.fonts import Font

_NO_START = "，。、；：？！）》”’」』】％…—"
_NO_END = "（《“‘「『【"
# What stays whole: a run of Latin, white space, or one wide character; each with its punctuation.
_PIECE = re.compile(
    rf"[{_NO_END}]*(?:[!-~°×·]+|[^\s!-~°×·{_NO_END}])[{_NO_START}]*|\s+|[{_NO_END}]+"
)


def wrap(text: str, font: Font, width: float, indent: int = 0) -> list[str]:
    """Lines that fit `width` pixels; the first is shorter by `indent` pixels."""
    lines: list[str] = []
    line, room = "", width - indent
    for piece in _PIECE.findall(text):
        if line and font.getlength((line + piece).rstrip()) > room:
            lines.append(line.rstrip())
            line, room = "", width
        line += piece if line else piece.lstrip()
    if line.strip():
        lines.append(line.rstrip())
    return lines
