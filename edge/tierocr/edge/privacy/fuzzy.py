"""Finding a sequence of character classes in text that may be misread. Pure.

Sellers, The theory and computation of evolutionary distances: pattern recognition (1980): edit
distance with a free start, one column a character of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

CharacterClass = frozenset[str]

_IGNORED = frozenset("-‐‑‒–—―_·•:：;；|/\\()[]{}<>「」【】")
"""Between the characters of a number or a label, as far as anybody writes or misreads them."""


def cleaned(text: str) -> str:
    """The text as it is searched: one width, one case, without spaces and separators."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if not c.isspace() and c not in _IGNORED)


def find(template: Sequence[CharacterClass], text: str, wrong: int) -> list[tuple[int, int]]:
    """Spans (start, end) of `text` that follow the template but for at most `wrong` characters
    that are another, missing or too many. Spans may overlap.
    """
    if not template or len(text) + wrong < len(template):
        return []
    costs, starts = list(range(len(template) + 1)), [0] * (len(template) + 1)
    spans = []
    for end, character in enumerate(text, 1):
        costs, starts = _next_column(template, character, end, costs, starts)
        if costs[-1] <= wrong:
            spans.append((starts[-1], end))
    return spans


def _next_column(
    template: Sequence[CharacterClass],
    character: str,
    end: int,
    costs: list[int],
    starts: list[int],
) -> tuple[list[int], list[int]]:
    """Cheapest way to have seen each beginning of the template right before `end`."""
    new_costs, new_starts = [0], [end]
    for i, allowed in enumerate(template):
        cost, start = costs[i] + (character not in allowed), starts[i]
        if costs[i + 1] + 1 < cost:  # one too many
            cost, start = costs[i + 1] + 1, starts[i + 1]
        if new_costs[i] + 1 < cost:  # one is missing
            cost, start = new_costs[i] + 1, new_starts[i]
        new_costs.append(cost)
        new_starts.append(start)
    return new_costs, new_starts
