"""The named text rules and how to apply them.

Rules are opt-in: the caller names them and keeps the raw text. Each takes one line or several and
is idempotent. Joining lines (`hyphens`) is no rule of this kind: it needs a line's neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from tierocr.shared.errors import TierocrError
from tierocr.shared.text.punctuation import normalise_punctuation
from tierocr.shared.text.spaces import tidy_spaces
from tierocr.shared.text.widths import normalise_widths

Rule = Callable[[str], str]

RULES: dict[str, Rule] = {
    "widths": normalise_widths,
    "punctuation": normalise_punctuation,
    "spaces": tidy_spaces,
}
_MOST_ROUNDS = 8


def apply_rules(text: str, names: Iterable[str]) -> str:
    """The text after the named rules, in the order of the table, until they agree.

    Raises TierocrError `config_invalid` for an unknown name.
    """
    chosen = set(names)
    for name in sorted(chosen - RULES.keys()):
        nearest = get_close_matches(name, RULES, n=1, cutoff=0.0)[0]
        known = ", ".join(RULES)
        raise TierocrError(
            "config_invalid",
            f'unknown text rule "{name}": did you mean "{nearest}"? The rules are {known}.',
        )
    rules = [rule for name, rule in RULES.items() if name in chosen]
    # One rule may open the way for another: a widened comma sheds the space behind it.
    for _ in range(_MOST_ROUNDS):
        before = text
        for rule in rules:
            text = rule(text)
        if text == before:
            break
    return text
