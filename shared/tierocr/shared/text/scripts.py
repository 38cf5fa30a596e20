"""Which characters are Chinese or Japanese script, and which make words of other scripts. Pure."""

from __future__ import annotations

CJK_LETTERS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff"
)
"""Ideographs, kana and bopomofo as the inside of a regular expression's brackets.

Hangul is left out: Korean is set with half-width punctuation and spaces, like Latin.
"""

CJK_MARKS = "、。〈〉《》「」『』【】〔〕〖〗"
"""Punctuation that occurs in Chinese and Japanese text only."""

_RANGES = tuple((CJK_LETTERS[i], CJK_LETTERS[i + 2]) for i in range(0, len(CJK_LETTERS), 3))


def is_cjk(char: str) -> bool:
    """Whether the character is an ideograph, kana or bopomofo; false for ""."""
    return bool(char) and any(low <= char <= high for low, high in _RANGES)


def is_chinese(char: str) -> bool:
    """Whether the character is a CJK letter or one of `CJK_MARKS`; false for ""."""
    return is_cjk(char) or (char != "" and char in CJK_MARKS)


def is_word(char: str) -> bool:
    """Whether the character is a letter or digit of another script; false for ""."""
    return char.isalnum() and not is_cjk(char)
