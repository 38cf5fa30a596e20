"""Whether a page that a cloud answered with is one: it may say anything. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tierocr.shared.document import Character, Line, Page, Quad, Word
from tierocr.shared.errors import TierocrError

MOST_LINES = 10_000
_FAR = 1e6


def check_page(page: Page, text_length: int) -> None:
    """Raise TierocrError `bad_request` for values that no page has. `text_length`: characters of
    the longest line that is believed.
    """
    if len(page.lines) > MOST_LINES:
        raise TierocrError("bad_request", f"{len(page.lines)} lines on one page")
    for line in page.lines:
        if not isinstance(line.truncated, bool) or len(line.words) > text_length:
            raise TierocrError("bad_request", "a line is none")
        for text, scores, quad in _parts(line):
            if not isinstance(text, str) or len(text) > text_length:
                raise TierocrError("bad_request", "a text is none")
            numbers = [*scores, *(v for point in quad for v in point)]
            if not all(map(_is_number, numbers)) or not all(0 <= v <= 1 for v in scores):
                raise TierocrError("bad_request", "a place or a confidence is none")
    _check_transform(page)


def _check_transform(page: Page) -> None:
    rows = page.transform
    numbers = all(_is_number(v) for row in rows for v in row)
    if [len(row) for row in rows] != [3, 3, 3] or not numbers or rows[2] != (0, 0, 1):
        raise TierocrError("bad_request", "a page's transform is none")


def _parts(line: Line) -> Iterator[tuple[str, tuple[float, float], Quad]]:
    """Text, scores and place of a line, of its words and their characters."""
    yield line.text, (line.score_raw, line.confidence), line.region.quad
    for word in line.words:
        parts: tuple[Word | Character, ...] = (word, *word.characters)
        for part in parts:
            yield part.text, (part.score_raw, part.confidence), part.quad


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and abs(value) < _FAR
