"""Finding a sequence of character classes in text that may be misread. Pure.

Sellers, The theory and computation of evolutionary distances: pattern recognition (1980): edit
distance with a free start, one column a character of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

CharacterClass = frozenset[str]

_IGNORED = frozenset("-‐‑‒–—―_·•:：;；|/\\()[]{}<>「」【】")
"""Between the characters of a number or a label, as far as anybody writes or misreads them."""


def cleaned(text: str) -> str:
    """The text as it is searched: one width, one case, without spaces and separators."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if not c.isspace() and c not in _IGNORED)


def words(text: str) -> list[str]:
    """A text in pieces (see `cleaned`), as spaces and separators part it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    parted = "".join(" " if c in _IGNORED else c for c in folded)
    return parted.split()


def find(
    template: Sequence[CharacterClass],
    text: str,
    wrong: int,
    borders: Collection[int] | None = None,
) -> list[tuple[int, int]]:
    """Spans (start, end) of `text` that follow the template but for at most `wrong` characters
    that are another, missing or too many. Spans may overlap. `borders`: places where one may begin
    and end; None: anywhere.
    """
    if not template or len(text) + wrong < len(template):
        return []
    costs, starts = list(range(len(template) + 1)), [0] * (len(template) + 1)
    spans = []
    for end, character in enumerate(text, 1):
        begun = (0, end) if borders is None or end in borders else (costs[0] + 1, starts[0])
        costs, starts = _next_column(template, character, begun, costs, starts)
        if costs[-1] <= wrong and (borders is None or end in borders):
            spans.append((starts[-1], end))
    return spans


def _next_column(
    template: Sequence[CharacterClass],
    character: str,
    begun: tuple[int, int],
    costs: list[int],
    starts: list[int],
) -> tuple[list[int], list[int]]:
    """Cheapest way to have seen each beginning of the template up to here; `begun`: none of it."""
    new_costs, new_starts = [begun[0]], [begun[1]]
    for i, allowed in enumerate(template):
        cost, start = costs[i] + (character not in allowed), starts[i]
        if costs[i + 1] + 1 < cost:  # one too many
            cost, start = costs[i + 1] + 1, starts[i + 1]
        if new_costs[i] + 1 < cost:  # one is missing
            cost, start = new_costs[i] + 1, new_starts[i]
        new_costs.append(cost)
        new_starts.append(start)
    return new_costs, new_starts
