"""Finds what no rule may touch: addresses, paths and code. Pure; knows no rule."""

from __future__ import annotations

import re

from tierocr.shared.text.scripts import CJK_LETTERS

Span = tuple[int, int]

_PATTERNS = (
    r"`[^`\n]+`",
    # An address may go on in Chinese behind one of its own separators; then only a space ends it.
    rf"(?:[A-Za-z][A-Za-z0-9+.-]*://|www\.)[!-~]+(?:(?<=[/=?&#])[{CJK_LETTERS}][!-~{CJK_LETTERS}]*)?",
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    # A call or an assignment with a quoted value: print("..."), name='...'.
    r"[A-Za-z_][A-Za-z0-9_.]*[(=](?:\"[^\"\n]*\"|'[^'\n]*')[!-~]*",
    # A run with signs that prose does not have.
    r"(?=[!-~]*[A-Za-z])(?=[!-~]*(?:[_\\={}<>|]|::|\(\)|--[A-Za-z]))[!-~]{2,}",
)
_PROTECTED = re.compile("|".join(_PATTERNS))
_OUTSIDE = ",.:;!?"
"""Signs that belong to the sentence when they end an address."""


def protected_spans(text: str) -> list[Span]:
    """Start and end of every protected stretch, in order."""
    spans = []
    for match in _PROTECTED.finditer(text):
        core = match.group().rstrip(_OUTSIDE)
        # The bracket around "(see www.a.example)" is not part of the address.
        while core.endswith(")") and core.count(")") > core.count("("):
            core = core[:-1].rstrip(_OUTSIDE)
        spans.append((match.start(), match.start() + len(core)))
    return spans


def overlaps(spans: list[Span], start: int, end: int) -> bool:
    """Whether start..end shares a character with one of the spans."""
    return any(start < high and low < end for low, high in spans)
