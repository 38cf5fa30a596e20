"""Kinds of numbers that must not leave, as sequences of character classes. Pure.

No check digit is asked for: a text is sent just because it is likely misread. Characters that a
digit is often read as count as that digit; two more may be wrong.
"""

from __future__ import annotations

from tierocr.edge.privacy.fuzzy import CharacterClass, find

WRONG = 2
"""Characters of a number that may be another, missing or too many."""

SHORTEST = 6
"""Positions of a template; with two wrong ones, a shorter one would fit anything."""

_DIGITS = frozenset("0123456789oqdiltsbzg!")  # 0 as o q d, 1 as i l t !, 5 as s, 8 as b, …
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")

NAMED = {
    "cn_id": "999999[12][0189]99[01]9[0123]9999[0123456789x]",
    "bank_card": "9999999999999",
    "phone_cn": "1[3456789]999999999",
    "iban": "AA99***********",
}
"""Identity numbers of China, card numbers of 13 digits and more, mobile phone numbers of China,
international bank account numbers.
"""

Template = tuple[CharacterClass, ...]


def template(text: str) -> Template:
    """A named template, or one written down: `9` a digit, `A` a letter, `*` either, `[abc]` one of
    these, anything else itself. Raises ValueError.
    """
    text = NAMED.get(text, text)
    classes: list[CharacterClass] = []
    rest = text
    while rest:
        if rest[0] == "[":
            inside, closed, rest = rest[1:].partition("]")
            if not closed or not inside:
                raise ValueError(f"{text!r}: a [ needs characters and a ]")
            classes.append(frozenset(inside.casefold()))
        else:
            classes.append(_class_of(rest[0]))
            rest = rest[1:]
    if len(classes) < SHORTEST:
        raise ValueError(f"{text!r} must stand for {SHORTEST} characters or more")
    return tuple(classes)


def spans(form: Template, text: str) -> list[tuple[int, int]]:
    """Where in a text (see `cleaned`) there is such a number, however misread."""
    wanted = sum(1 for allowed in form if allowed <= _DIGITS) - WRONG
    if sum(1 for c in text if c in _DIGITS) < wanted:
        return []
    return find(form, text, WRONG)


def has_digit(text: str) -> bool:
    """Whether a text (see `cleaned`) could be a piece of a number."""
    return any(c in _DIGITS for c in text)


def _class_of(character: str) -> CharacterClass:
    known = {"9": _DIGITS, "A": _LETTERS, "*": _DIGITS | _LETTERS}
    return known.get(character, frozenset(character.casefold()))
