"""Whether the cloud's reading of a line may replace the edge's, and the line that results.

Pure. The cloud is trusted only as far as its answer is sane: about as long, in a script that the
edge saw or that is expected, without loops. Two probabilities are compared only when both are
calibrated. Both texts stay in the result.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from tierocr.shared.document import CLOUD, Alternative, Line, Quad
from tierocr.shared.ocr.lines import words_of
from tierocr.shared.protocol import Refined
from tierocr.shared.recognition import Glyph

LENGTH_RATIO = (0.5, 2.0)
"""The cloud's text may be this much shorter or longer than the edge's, give or take
`LENGTH_SLACK`.
"""

LENGTH_SLACK = 3
LOOP_REPEATS = 5
"""A piece of two or more characters repeated so often in a row is a loop, not text."""

ALLOWED_SCRIPTS = frozenset(
    (
        *("LATIN", "CJK", "DIGIT", "HIRAGANA", "KATAKANA", "HANGUL", "GREEK", "CYRILLIC"),
        *("FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC"),
        *("MICRO", "MASCULINE", "FEMININE", "ANGSTROM"),  # µ º ª Å: letters to Unicode
    )
)


def refusal(edge: Line, cloud: Refined, *, both_calibrated: bool) -> str | None:
    """Why a cloud answer must not be taken, or None where it may.

    Reasons: `error`, `empty`, `length`, `loop`, `script`, `control`, `less_probable`.
    """
    if cloud.error is not None:
        return "error"
    text = cloud.text.strip()
    if (reason := unfit(text, edge.text)) is not None:
        return reason
    if not _similar_length(edge.text, text):
        return "length"
    if both_calibrated and cloud.confidence < edge.confidence:
        return "less_probable"
    return None


def unfit(text: str, edge: str) -> str | None:
    """Why a text is none that a page may have, or None where it may: `empty`, `control`, `loop`,
    `script`. `edge`: what the edge has read there.
    """
    text = text.strip()
    if not text:
        return "empty"
    if any(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") for c in text):
        return "control"
    if has_loop(text):
        return "loop"
    return None if scripts_of(text) <= ALLOWED_SCRIPTS | scripts_of(edge) else "script"


def take(edge: Line, cloud: Refined, quad: Quad) -> Line:
    """The line with the cloud's text, where the edge found it.

    `quad`: the crop that the cloud read, in page pixels; its characters stand in it.
    """
    glyphs = [
        Glyph(
            text=c.text,
            start=c.start,
            end=max(c.start, c.end),
            probability=c.score_raw,
            margin=0.0,
            entropy=0.0,
        )
        for c in cloud.chars
    ]
    spelled = "".join(g.text for g in glyphs).strip() == cloud.text.strip()
    return replace(
        edge,
        text=cloud.text.strip(),
        score_raw=cloud.score_raw,
        confidence=cloud.confidence,
        words=words_of(glyphs, quad) if spelled else (),
        source=CLOUD,
        alternatives=(
            *edge.alternatives,
            Alternative(text=edge.text, source=edge.source, score_raw=edge.score_raw),
        ),
    )


def has_loop(text: str) -> bool:
    """Whether some piece of 2 to 12 characters that is not all one sign repeats `LOOP_REPEATS`
    times.
    """
    for size in range(2, 13):
        for start in range(len(text) - size * LOOP_REPEATS + 1):
            piece = text[start : start + size]
            if len(set(piece)) > 1 and text.startswith(piece * LOOP_REPEATS, start):
                return True
    return False


def scripts_of(text: Iterable[str]) -> set[str]:
    """First words of the Unicode names of the letters in a text: "LATIN", "CJK", "ARABIC", …"""
    return {unicodedata.name(c, "UNKNOWN").split()[0].split("-")[0] for c in text if c.isalpha()}


def _similar_length(edge: str, cloud: str) -> bool:
    e, c = len(edge.replace(" ", "")), len(cloud.replace(" ", ""))
    low, high = LENGTH_RATIO
    return low * e - LENGTH_SLACK <= c <= high * e + LENGTH_SLACK
