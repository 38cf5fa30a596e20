"""What a generated line says: text from a random generator, nothing is drawn.

Each kind of line is a way of writing; only characters that the caller allows are used, so that no
label asks for a character that a recogniser cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache

import numpy as np

from tierocr.cloud.forge.lines import vocabulary as v
from tierocr.cloud.forge.sample_pages.numerals import capitals, figures, grouped

Generator = np.random.Generator
SPACE = " "

_MOST_TRIES = 50


def level_characters(encoding: str, first: int, last: int) -> str:
    """The characters of a double-byte encoding whose first byte lies in first..last."""
    pairs = (bytes([high, low]) for high in range(first, last + 1) for low in range(0x40, 0xFF))
    decoded = (pair.decode(encoding, "ignore") for pair in pairs)
    return "".join(text for text in decoded if len(text) == 1 and text > "\x7f")


@lru_cache(maxsize=1)
def _level_1() -> str:
    return level_characters("gb2312", 0xB0, 0xD7)  # 3755, by pronunciation


@lru_cache(maxsize=1)
def _level_2() -> str:
    return level_characters("gb2312", 0xD8, 0xF7)  # 3008, by radical


@lru_cache(maxsize=1)
def _frequent_hant() -> str:
    return level_characters("big5", 0xA4, 0xC5)  # the frequent half


def phrase(rng: Generator, kind: str, allowed: Collection[str]) -> str:
    """One line of a kind of `KINDS`, of characters in `allowed` and spaces; never empty.

    No space stands at either end. Characters that are not allowed are left out.
    """
    for _ in range(_MOST_TRIES):
        words = KINDS[kind](rng).split()
        kept = ("".join(char for char in word if char in allowed) for word in words)
        if text := SPACE.join(word for word in kept if word):
            return text
    return pick(rng, sorted(allowed))


def pick(rng: Generator, values: Collection[str] | str) -> str:
    """One of them."""
    values = values if isinstance(values, (list, tuple, str)) else list(values)
    return values[int(rng.integers(len(values)))]


def _some(rng: Generator, values: Collection[str], low: int, high: int) -> list[str]:
    return [pick(rng, values) for _ in range(int(rng.integers(low, high + 1)))]


def _digits(rng: Generator, count: int) -> str:
    return "".join(str(digit) for digit in rng.integers(0, 10, count))


def _cents(rng: Generator) -> int:
    return int(10 ** rng.uniform(2, 7.5))


def _number(rng: Generator) -> str:
    """An amount, a date, a time, a telephone number or an identifier, as forms have them."""
    year, month, day = rng.integers(1998, 2036), rng.integers(1, 13), rng.integers(1, 29)
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    return pick(
        rng,
        (
            figures(_cents(rng)),
            grouped(_cents(rng)),
            f"¥{grouped(_cents(rng))}",
            f"-{figures(_cents(rng) // 100 + 1)}",
            f"${grouped(_cents(rng))}",
            f"{rng.uniform(0, 100):.{int(rng.integers(0, 3))}f}%",
            f"{year}-{month:02d}-{day:02d}",
            f"{year}/{month}/{day}",
            f"{day:02d}.{month:02d}.{year}",
            f"{year}-{month:02d}-{day:02d} {rng.integers(24):02d}:{rng.integers(60):02d}",
            f"{rng.integers(24):02d}:{rng.integers(60):02d}:{rng.integers(60):02d}",
            f"0{_digits(rng, 3)}-{_digits(rng, 8)}",
            f"1{_digits(rng, 10)}",
            f"({_digits(rng, 3)}) {_digits(rng, 3)}-{_digits(rng, 4)}",
            f"{pick(rng, letters)}{pick(rng, letters)}-{_digits(rng, 4)}-{_digits(rng, 3)}",
            f"{pick(rng, letters)}{_digits(rng, int(rng.integers(6, 12)))}",
            _digits(rng, int(rng.integers(4, 19))),
            f"{_digits(rng, 4)}****{_digits(rng, 4)}",
        ),
    )


def _words_zh(rng: Generator) -> str:
    """A clause or two of set words, here and there an unexpected character."""
    text = ""
    for _ in range(int(rng.integers(1, 3))):
        clause = "".join(_some(rng, v.WORDS_ZH, 2, 6))
        if rng.random() < 0.5:
            clause += pick(rng, _level_1()) + pick(rng, ("的", "了", "和", "之", "等", "为"))
        text += clause + pick(rng, "，。、；：！？,.")
    return text if rng.random() < 0.6 else text[:-1]


def _field_zh(rng: Generator) -> str:
    colon = pick(rng, ("：", ":", ": "))
    value = pick(
        rng,
        (
            _number(rng),
            _number(rng),
            f"{pick(rng, v.NAMES_ZH)}{pick(rng, v.KINDS_ZH)}",
            f"{pick(rng, v.NAMES_ZH)}市{pick(rng, v.NAMES_ZH)}区{pick(rng, v.NAMES_ZH)}路"
            f"{rng.integers(1, 999)}号",
            f"{rng.integers(2000, 2036)}年{rng.integers(1, 13)}月{rng.integers(1, 29)}日",
            capitals(_cents(rng)),
            f"{rng.integers(1, 9999)}{pick(rng, v.UNITS_ZH)}",
            "".join(pick(rng, _level_1()) for _ in range(int(rng.integers(2, 5)))),
        ),
    )
    return f"{pick(rng, v.FIELDS_ZH)}{colon}{value}"


def _label_zh(rng: Generator) -> str:
    label = pick(rng, (*v.FIELDS_ZH, *v.KINDS_ZH))
    number = (
        f"{pick(rng, '一二三四五六七八九')}、",
        f"{rng.integers(1, 20)}. ",
        f"({rng.integers(1, 9)})",
    )
    return pick(
        rng, (label, f"{label}：", f"({label})", f"（{label}）", f"{pick(rng, number)}{label}")
    )


def _random_zh(rng: Generator) -> str:
    """Characters without sense: names, rare words; no language model can guess them."""
    count = int(rng.integers(2, 15))
    rare = rng.random(count) < 0.15
    return "".join(pick(rng, _level_2() if r else _level_1()) for r in rare)


def _goods_zh(rng: Generator) -> str:
    price, many = int(rng.integers(100, 20000)), int(rng.integers(1, 9))
    good = pick(rng, v.GOODS_ZH)
    return pick(
        rng,
        (
            good,
            f"{good} {many} {figures(price * many)}",
            f"{good} x{many}",
            f"{good} {figures(price)} {many} {figures(price * many)}",
            f"{pick(rng, v.NAMES_ZH)}{good}",
        ),
    )


def _hant(rng: Generator) -> str:
    if rng.random() < 0.3:
        return "".join(pick(rng, _frequent_hant()) for _ in range(int(rng.integers(2, 12))))
    return "".join(_some(rng, v.WORDS_HANT, 1, 6)) + pick(rng, ("", "", "，", "。", "：", "、"))


def _sentence_en(rng: Generator) -> str:
    words = _some(rng, v.WORDS_EN, 3, 12)
    for place in range(len(words)):
        chance = rng.random()
        if chance < 0.06:
            words[place] = pick(rng, v.NAMES_EN)
        elif chance < 0.1:
            words[place] = _number(rng)
        elif chance < 0.16:
            words[place] += ","
        elif chance < 0.18:
            words[place] = f"({words[place]})"
    if rng.random() < 0.6:
        words[0] = words[0].capitalize()
    return SPACE.join(words) + pick(rng, ("", "", "", ".", ".", ":", ";", "?"))


def _field_en(rng: Generator) -> str:
    value = pick(
        rng,
        (
            _number(rng),
            _number(rng),
            f"{pick(rng, v.NAMES_EN)} {pick(rng, v.KINDS_EN)}",
            f"{rng.integers(1, 999)} {pick(rng, v.NAMES_EN)} Street, Suite {rng.integers(1, 60)}",
            f"{pick(rng, v.NAMES_EN).lower()}@{pick(rng, v.NAMES_EN).lower()}.example",
            "",
        ),
    )
    return f"{pick(rng, v.FIELDS_EN)}{pick(rng, (':', ':', '', ' #', '.'))} {value}"


def _receipt_en(rng: Generator) -> str:
    price, good = int(rng.integers(50, 30000)), pick(rng, v.GOODS_EN)
    text = pick(
        rng,
        (
            f"{good} {figures(price)}",
            f"{rng.integers(1, 9)} x {good}",
            f"{good} {rng.integers(1, 9)} {figures(price)}",
            f"{pick(rng, v.NAMES_EN)} {pick(rng, v.KINDS_EN)}",
            f"{pick(rng, v.FIELDS_EN)}: {_number(rng)}",
            f"{pick(rng, v.FIELDS_EN)} {figures(price)}",
            SPACE.join(_some(rng, v.WORDS_EN, 2, 5)),
        ),
    )
    return text.upper()


def _word_en(rng: Generator) -> str:
    """One to three words, as cells and buttons have them."""
    words = SPACE.join(_some(rng, (*v.WORDS_EN, *v.NAMES_EN), 1, 3))
    return pick(rng, (words, words.title(), words.upper(), words.capitalize()))


def _mixed(rng: Generator) -> str:
    return pick(
        rng,
        (
            f"{pick(rng, v.FIELDS_ZH)} {pick(rng, v.FIELDS_EN)}",
            f"{pick(rng, v.FIELDS_ZH)} {pick(rng, v.FIELDS_EN)}: {_number(rng)}",
            f"{pick(rng, v.GOODS_ZH)} {pick(rng, v.GOODS_EN).title()}",
            f"{pick(rng, v.WORDS_ZH)}{pick(rng, v.NAMES_EN)}{_random_zh(rng)[:6]}",
            f"{pick(rng, v.NAMES_ZH)}牌{pick(rng, 'ABCDEFGH')}{rng.integers(10, 9999)}型"
            f"{''.join(_some(rng, v.WORDS_ZH, 1, 3))}"
            f"（{rng.integers(1, 900)}{pick(rng, v.UNITS_ZH)}）",
            f"{''.join(_some(rng, v.WORDS_ZH, 1, 3))}({SPACE.join(_some(rng, v.WORDS_EN, 1, 2))})",
        ),
    )


KINDS: dict[str, Callable[[Generator], str]] = {
    "words_zh": _words_zh,
    "field_zh": _field_zh,
    "label_zh": _label_zh,
    "random_zh": _random_zh,
    "goods_zh": _goods_zh,
    "hant": _hant,
    "sentence_en": _sentence_en,
    "field_en": _field_en,
    "receipt_en": _receipt_en,
    "word_en": _word_en,
    "mixed": _mixed,
    "number": _number,
}

SHARES = {
    "words_zh": 0.14,
    "field_zh": 0.11,
    "label_zh": 0.05,
    "random_zh": 0.12,
    "goods_zh": 0.06,
    "hant": 0.06,
    "sentence_en": 0.12,
    "field_en": 0.08,
    "receipt_en": 0.07,
    "word_en": 0.05,
    "mixed": 0.08,
    "number": 0.06,
}
"""How much of each kind there is: about half is Chinese."""


def any_kind(rng: Generator) -> str:
    """A kind, drawn by `SHARES`."""
    names = list(SHARES)
    return names[int(rng.choice(len(names), p=[SHARES[name] for name in names]))]
