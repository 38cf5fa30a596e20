"""Decides full width or half width for each letter, digit and sign.

Letters and digits become half-width. A sign becomes full-width only beside Chinese or Japanese,
ASCII only inside runs of other scripts and numbers; where neither is clear it stays as it was read.
Nothing is added or removed. Addresses and code keep their signs; so do numbers, dates, times and
IDs, whose signs stand between two letters or digits and are never widened.
"""

from __future__ import annotations

from tierocr.shared.text.protected import overlaps, protected_spans
from tierocr.shared.text.scripts import is_chinese, is_word

_WIDE = {",": "，", ".": "。", ":": "：", ";": "；", "!": "！", "?": "？", "(": "（", ")": "）"}
_SYMBOLS = "#$%&*+-/<=>@[\\]^_{|}"
_TO_NARROW = {
    chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"'`~"
} | {wide: narrow for narrow, wide in _WIDE.items()}
_LETTERS = {wide: narrow for wide, narrow in _TO_NARROW.items() if narrow.isalnum()}
_KEEP, _NARROW, _WIDEN = range(3)


def normalise_widths(text: str) -> str:
    """The text with its widths in order, line by line; as long as before."""
    return "\n".join(_normalise(line) for line in text.split("\n"))


def _normalise(text: str) -> str:
    # Decisions look at the narrow form only, which they do not change: twice is the same as once.
    skeleton = narrow_form(text)
    spans = protected_spans(skeleton)
    latin = any(map(is_word, skeleton)) and not any(map(is_chinese, skeleton))
    pairs = _pairs(skeleton)
    result = []
    for index, char in enumerate(text):
        sign = skeleton[index]
        verdict = _KEEP
        if char in _LETTERS:
            verdict = _NARROW
        elif not overlaps(spans, index, index + 1):
            if sign in "()":
                verdict = _bracket(skeleton, index, pairs.get(index), latin)
            elif sign in _WIDE:
                verdict = _sign(skeleton, index, latin)
            elif sign in _SYMBOLS:
                verdict = _symbol(skeleton, index)
        result.append({_KEEP: char, _NARROW: sign, _WIDEN: _WIDE.get(sign, char)}[verdict])
    return "".join(result)


def narrow_form(text: str) -> str:
    """Every full-width form as its ASCII twin; for comparison, not for display."""
    return "".join(_TO_NARROW.get(char, char) for char in text)


def _sign(text: str, index: int, latin: bool) -> int:
    """A comma, stop, colon, semicolon, exclamation or question mark."""
    left = text[:index].rstrip(" ")[-1:]
    right = text[index + 1 : index + 2]
    beyond = text[index + 1 :].lstrip(" ")[:1]
    stop = text[index] == "."
    if stop and "." in (text[index - 1 : index], right):
        return _KEEP
    # Between words a stop ends a sentence, whatever its width; between digits it is a point.
    joined = left.isdigit() and right.isdigit() if stop else is_word(beyond)
    if latin or (is_word(left) and joined):
        return _NARROW
    if stop:
        # "file.doc" and a name's middle dot look the same: only a stop at the end is sure.
        return _WIDEN if is_chinese(left) and right in ("", " ", "”", "」") else _KEEP
    return _WIDEN if is_chinese(left) or is_chinese(right) else _KEEP


def _bracket(text: str, index: int, pair: tuple[int, int] | None, latin: bool) -> int:
    """A round bracket; both of a pair get the same verdict."""
    if latin:
        return _NARROW
    start, end = pair or (index, index)
    before, after = text[start - 1 : start] if start else "", text[end + 1 : end + 2]
    if pair is None:
        return _WIDEN if is_chinese(before) else _KEEP
    first, last = text[start + 1], text[end - 1]
    if any(is_chinese(char) for char in (before, first, last)):
        return _WIDEN
    plain = not any(is_chinese(char) for char in text[start:end])
    return _NARROW if plain and is_word(before) and not is_chinese(after) else _KEEP


def _symbol(text: str, index: int) -> int:
    """Any other sign: narrow inside a run, never widened."""
    left, right = text[index - 1 : index] if index else "", text[index + 1 : index + 2]
    inside = is_word(left) and is_word(right)
    return _NARROW if inside or (text[index] == "%" and left.isdigit()) else _KEEP


def _pairs(text: str) -> dict[int, tuple[int, int]]:
    """For the place of each round bracket that has a partner: both places."""
    pairs: dict[int, tuple[int, int]] = {}
    waiting: list[int] = []
    for index, char in enumerate(text):
        if char == "(":
            waiting.append(index)
        elif char == ")" and waiting:
            pair = (waiting.pop(), index)
            pairs[pair[0]] = pairs[index] = pair
    return pairs
