"""Joins the lines of a paragraph, undoing the hyphens that only a line's end called for.

A hyphen goes only where a plain lower-case word is broken; numbers, IDs, ranges, names and
compounds keep theirs. There is no dictionary here: a compound is known by its first word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tierocr.shared.text.scripts import is_cjk

_HYPHENS = "-\u2010"
_SOFT = "\u00ad"
_LAST = re.compile(rf"\S+(?=[{_HYPHENS}]$)")
_FIRST = re.compile(r"\w+")
_REST = re.compile(r"\w+[^\w\s]*")
_COMPOUND = re.compile(
    "cross|double|far|first|full|half|hard|high|large|left|light|long|low|near|new|non|old|one|open|"
    "real|right|second|self|short|single|small|soft|state|third|three|top|two|user|well|wide"
)
"""First parts that usually keep their hyphen: well-known, self-test, two-page."""
_ENDING = re.compile("able|ed|en|er|ers|est|ing|ings|ish|ity|ize|ly|ment|ness|th|ward")
"""What makes one word of a first part after all: high-est, open-ing, real-ity."""
_SUSPENDED = frozenset(("and", "or", "to", "nor", "und", "oder"))
"""What follows a hyphen that stands for a word said later: "pre- and post-war"."""


def join_hyphenated(lines: Sequence[str]) -> str:
    """Running text from the lines; an empty line starts a new paragraph (one line break).

    Chinese lines are joined directly, others with a space.
    """
    paragraphs: list[str] = [""]
    for line in (line.strip() for line in lines):
        if not line:
            paragraphs.append("")
        else:
            paragraphs[-1] = _join(paragraphs[-1], line) if paragraphs[-1] else line
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


def mend_broken_word(left: str, right: str) -> tuple[str, str]:
    """Two consecutive lines; the rest of a word that the first one's end broke moves up to it.

    Lines that break no word, or of which the second would be empty, come back as they are.
    """
    left, right = left.rstrip(), right.lstrip()
    rest = _REST.match(right)
    if not left or not rest or rest.end() == len(right):
        return left, right
    if _join(left, right) != left[:-1] + right:
        return left, right  # no hyphen there, or it belongs to the word
    return left[:-1] + rest.group(), right[rest.end() :].lstrip()


def _join(left: str, right: str) -> str:
    if left.endswith(_SOFT):
        return left[:-1] + right
    broken = _LAST.search(left)
    if broken:
        return _mend(left, right, broken.group())
    return left + ("" if is_cjk(left[-1]) and is_cjk(right[0]) else " ") + right


def _mend(left: str, right: str, stump: str) -> str:
    """`left` ends with `stump` and a hyphen."""
    match = _FIRST.match(right)
    rest = match.group() if match else ""
    if rest in _SUSPENDED or not match:
        return f"{left} {right}"
    # Brackets and quotes before the word are not part of it.
    word = stump.lstrip("([{\"'“‘")
    plain = all(part.isalpha() and part.islower() and len(part) > 1 for part in (word, rest))
    compound = _COMPOUND.fullmatch(word) and not _ENDING.fullmatch(rest)
    return (left[:-1] if plain and not compound else left) + right
