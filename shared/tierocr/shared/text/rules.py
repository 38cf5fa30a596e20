"""The named text rules and how to apply them.

Rules are opt-in: the caller names them and keeps the raw text. Those of `RULES` take one line
and are idempotent; `HYPHENS` needs a line's neighbour, so it works on the lines of a page in
reading order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from tierocr.shared.errors import TierocrError
from tierocr.shared.text.hyphens import mend_broken_word
from tierocr.shared.text.punctuation import normalise_punctuation
from tierocr.shared.text.spaces import tidy_spaces
from tierocr.shared.text.widths import normalise_widths

Rule = Callable[[str], str]

RULES: dict[str, Rule] = {
    "widths": normalise_widths,
    "punctuation": normalise_punctuation,
    "spaces": tidy_spaces,
}
HYPHENS = "hyphens"
NAMES = (*RULES, HYPHENS)
_MOST_ROUNDS = 8


def check_names(names: Iterable[str]) -> None:
    """Raises TierocrError `config_invalid` for an unknown name, naming the nearest known one."""
    for name in sorted(set(names) - set(NAMES)):
        nearest = get_close_matches(name, NAMES, n=1, cutoff=0.0)[0]
        raise TierocrError(
            "config_invalid",
            f'unknown text rule "{name}": did you mean "{nearest}"? '
            f"The rules are {', '.join(NAMES)}.",
        )


def apply_to_lines(lines: Sequence[str], names: Iterable[str]) -> list[str]:
    """The lines of a page, in reading order, after the named rules; as many lines as before.

    Raises TierocrError `config_invalid` for an unknown name.
    """
    chosen = set(names)
    check_names(chosen)
    texts = [apply_rules(line, chosen - {HYPHENS}) for line in lines]
    if HYPHENS in chosen:
        for i in range(len(texts) - 1):
            texts[i], texts[i + 1] = mend_broken_word(texts[i], texts[i + 1])
    return texts


def apply_rules(text: str, names: Iterable[str]) -> str:
    """The text after the named rules, in the order of the table, until they agree.

    Raises TierocrError `config_invalid` for an unknown name.
    """
    chosen = set(names)
    check_names(chosen)
    rules = [rule for name, rule in RULES.items() if name in chosen]
    # One rule may open the way for another: a widened comma sheds the space behind it.
    for _ in range(_MOST_ROUNDS):
        before = text
        for rule in rules:
            text = rule(text)
        if text == before:
            break
    return text
