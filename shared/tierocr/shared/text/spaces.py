"""Tidies the spaces that a recogniser emitted: by characters only, never by geometry.

Chinese and Japanese are set without spaces, so one between two such characters goes; runs become
one space; the ends of a line have none. Nothing but spaces is removed, nothing is added.
"""

from __future__ import annotations

import re

from tierocr.shared.text.scripts import CJK_LETTERS, CJK_MARKS

_BLANK = "[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_SIGNS = re.escape(CJK_MARKS + "，：；！？（）")
"""Full-width signs bring their own space, whatever stands beside them."""
_RUNS = re.compile(f"{_BLANK}+")
_ENDS = re.compile("^ | $", re.MULTILINE)
_BETWEEN = re.compile(f"(?<=[{CJK_LETTERS}]) (?=[{CJK_LETTERS}])|(?<=[{_SIGNS}]) | (?=[{_SIGNS}])")


def tidy_spaces(text: str) -> str:
    """The text with its spaces in order; line ends stay."""
    return _BETWEEN.sub("", _ENDS.sub("", _RUNS.sub(" ", text)))
