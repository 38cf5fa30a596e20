"""Puts look-alike and doubled punctuation right beside Chinese and Japanese.

Decides ellipses, dashes, doubled signs, name dots and the direction of quotation marks. Widths are
another rule's business. English, code, addresses and numbers keep what they have: every change
needs an ideograph or a full-width sign beside it.
"""

from __future__ import annotations

import re

from tierocr.shared.text.protected import overlaps, protected_spans
from tierocr.shared.text.scripts import CJK_LETTERS, is_chinese, is_cjk

_FORMS = str.maketrans("﹐﹑﹒﹔﹕﹖﹗｡､｢｣︰", "，、．；：？！。、「」：")
"""Small and half-width presentation forms, sign for sign."""

_BESIDE = CJK_LETTERS + "》」』】）"
_AFTER, _BEFORE = f"(?<=[{_BESIDE}])", f"(?=[{CJK_LETTERS}《「『【（])"
_DOTS = r"(?:\.{3,}|。{3,}|[…⋯]+|[·・]{3,})"
_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff"
_CHANGES = (
    (f"{_AFTER}{_DOTS}|{_DOTS}{_BEFORE}", "……"),
    (rf"{_AFTER}(?:。。|。\.|\.。)(?![.。\d])", "。"),
    (f"{_AFTER}[，,]{{2,}}|，[，,]+|,+，", "，"),
    ("；[；;]+|;+；", "；"),
    ("：[：:]+|:+：", "："),
    ("、{2,}", "、"),
    (f"(?<=[{CJK_LETTERS}])(?:-{{2,}}|[—―─]{{2,}})(?=[{CJK_LETTERS}])", "——"),
    (f"(?<=[{_HAN}])[•‧∙⋅・･](?=[{_HAN}])", "·"),
)
_SINGLE = (
    rf"(?<![A-Za-z0-9'])'([{CJK_LETTERS}](?:[^'\n]*[{CJK_LETTERS}，。！？])?)'(?![A-Za-z0-9'])"
)
_STRAIGHT, _CURLY = '"＂', "“”"


def normalise_punctuation(text: str) -> str:
    """The text with its punctuation in order, line by line."""
    return "\n".join(_settle(line) for line in text.split("\n"))


def _settle(line: str) -> str:
    # Each change shortens the line or puts a final sign in place, so this comes to rest.
    while (changed := _once(line)) != line:
        line = changed
    return line


def _once(line: str) -> str:
    line = line.translate(_FORMS)
    for pattern, sign in _CHANGES:
        line = _replace(line, pattern, sign)
    return _pair_quotes(_replace(line, _SINGLE, r"‘\1’"))


def _replace(line: str, pattern: str, template: str) -> str:
    spans = protected_spans(line)

    def change(match: re.Match[str]) -> str:
        kept = overlaps(spans, match.start(), match.end())
        return match.group() if kept else match.expand(template)

    return re.sub(pattern, change, line)  # compiled when first used, not at every start


def _pair_quotes(line: str) -> str:
    """Give double quotation marks their direction, where a pair encloses or adjoins Chinese."""
    spans = protected_spans(line)
    places = [
        index
        for index, char in enumerate(line)
        if char in _STRAIGHT + _CURLY and not overlaps(spans, index, index + 1)
    ]
    marks = [line[index] for index in places]
    if len(places) % 2 or _well_nested(marks):
        return line
    pairs = list(zip(places[::2], places[1::2], strict=True))
    if any(line[start] in _STRAIGHT and line[:start][-1:].isdigit() for start, _ in pairs):
        return line  # inches, not quotations
    chars = list(line)
    for start, end in pairs:
        within = any(is_cjk(char) for char in line[start + 1 : end])
        if within or (is_chinese(line[:start][-1:]) and is_chinese(line[end + 1 :][:1])):
            chars[start], chars[end] = "“", "”"
    return "".join(chars)


def _well_nested(marks: list[str]) -> bool:
    """Whether all marks have a direction and open and close in turn."""
    depth = 0
    for mark in marks:
        depth += {"“": 1, "”": -1}.get(mark, -len(marks) - 1)
        if depth < 0:
            return False
    return depth == 0
