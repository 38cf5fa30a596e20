"""Amounts of money in figures and in Chinese capital numerals. Pure."""

from __future__ import annotations

_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_PLACES = (("仟", 1000), ("佰", 100), ("拾", 10), ("", 1))
_GROUPS = (("亿", 10**8), ("万", 10**4), ("", 1))


def figures(cents: int) -> str:
    """123456 -> "1234.56"."""
    return f"{cents // 100}.{cents % 100:02d}"


def grouped(cents: int) -> str:
    """123456 -> "1,234.56"."""
    return f"{cents // 100:,}.{cents % 100:02d}"


def capitals(cents: int) -> str:
    """123450 -> 壹仟贰佰叁拾肆元伍角整, as an invoice writes it; under a million million."""
    yuan, jiao, fen = cents // 100, cents // 10 % 10, cents % 10
    text = f"{_integer(yuan)}元" if yuan else ""
    if jiao:
        text += f"{_DIGITS[jiao]}角"
    elif fen and text:
        text += "零"
    text += f"{_DIGITS[fen]}分" if fen else "整"
    return text if cents else "零元整"


def _integer(number: int) -> str:
    text = ""
    for unit, size in _GROUPS:
        group = number // size % 10_000
        if group:
            text += ("零" if text and group < 1000 else "") + _group(group) + unit
    return text


def _group(number: int) -> str:
    """One to four digits; a gap between digits reads 零."""
    text, gap = "", False
    for unit, place in _PLACES:
        digit = number // place % 10
        if digit:
            text += ("零" if gap and text else "") + _DIGITS[digit] + unit
        gap = not digit
    return text
