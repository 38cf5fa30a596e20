"""From a reading and the quad it was cut from to a `Line` with words, characters and signals.

Pure. Decides where characters stand, where spaces belong when the network emitted none, and how
confidences are combined: a word or line is as strong as its weakest character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from statistics import median

from tierocr.shared.document import Character, Line, Quad, Region, Signals, Word
from tierocr.shared.geometry import quad_size, reading_angle, slice_quad, span
from tierocr.shared.recognition import SPACE, Glyph, Reading

WIDE_GAP = 1.5
"""A gap this many times what the two characters need at the line's own pitch may be a space …"""

LEAST_GAP = 0.32
"""… if it is also this many line heights wider than they need. Both were chosen for the best F1 of
spaces: lower values join fewer words, but begin to split them.
"""

_NARROW = frozenset("iljtfr1I.,:;!|'`()[]/\\")
_WIDE = frozenset("mwMW@%")


def is_ideographic(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return unicodedata.east_asian_width(char) in "WF"


def build_line(reading: Reading, region: Region, *, crop_height: float, source: str) -> Line | None:
    """The line of a reading, or None when nothing was read.

    `region.quad` is the quad that the crop was cut from, in page pixels.
    """
    glyphs = with_spaces(reading.glyphs, quad_size(region.quad))
    visible = [g for g in glyphs if g.text != SPACE]
    if not visible:
        return None
    text = "".join(g.text for g in glyphs).strip()
    weakest = min(g.probability for g in visible)
    return Line(
        region=region,
        text=text,
        score_raw=weakest,
        confidence=weakest,
        words=words_of(glyphs, region.quad),
        signals=signals_of(visible, crop_height, region.score),
        angle=round(reading_angle(region.quad), 2),
        truncated=reading.truncated,
        source=source,
    )


def signals_of(visible: Sequence[Glyph], crop_height: float, detector_score: float) -> Signals:
    """See `Signals`; `visible` are the glyphs that are not spaces, at least one."""
    values = [g.probability for g in visible]
    return Signals(
        min_probability=min(values),
        mean_probability=sum(values) / len(values),
        margin=min(g.margin for g in visible),
        entropy=max(g.entropy for g in visible),
        weak=sum(v < 0.5 for v in values),
        length=len(values),
        crop_height=crop_height,
        detector_score=detector_score,
    )


def words_of(glyphs: Sequence[Glyph], quad: Quad) -> tuple[Word, ...]:
    """Words with their characters. Breaks at spaces and where ideographs meet other scripts."""
    cells = character_cells(glyphs)
    words: list[Word] = []
    run: list[Character] = []
    for glyph, (start, end) in zip(glyphs, cells, strict=True):
        if glyph.text == SPACE or (run and _break_between(run[-1].text, glyph.text)):
            words += _word(run)
            run = []
        if glyph.text != SPACE:
            run.append(
                Character(
                    text=glyph.text,
                    quad=slice_quad(quad, start, end),
                    score_raw=glyph.probability,
                    confidence=glyph.probability,
                )
            )
    return (*words, *_word(run))


def character_cells(glyphs: Sequence[Glyph]) -> list[tuple[float, float]]:
    """(start, end) fraction of the line for each glyph.

    CTC columns mark where a character is, not how wide it is: its cell ends halfway to its
    neighbours, but reaches no further than three quarters of the usual pitch.
    """
    middles = [(g.start + g.end) / 2 for g in glyphs]
    gaps = [b - a for a, b in zip(middles, middles[1:], strict=False)]
    reach = 0.75 * median(gaps) if gaps else 0.5
    cells = []
    for i, middle in enumerate(middles):
        left = (middles[i - 1] + middle) / 2 if i else 0.0
        right = (middles[i + 1] + middle) / 2 if i + 1 < len(middles) else 1.0
        cells.append((max(left, middle - reach, 0.0), min(right, middle + reach, 1.0)))
    return cells


def with_spaces(glyphs: Sequence[Glyph], size: tuple[float, float]) -> list[Glyph]:
    """One space for each gap: those the network saw, and those it left out between characters
    that stand visibly apart.

    `size`: (length, height) of the line in pixels. A gap is compared with what the two characters
    need at this line's own pitch; ideographs never get a space.
    """
    glyphs = [g for i, g in enumerate(glyphs) if g.text != SPACE or _starts_gap(glyphs, i)]
    along, across = size
    need = [_advance(g.text) for g in glyphs]
    middles = [(g.start + g.end) / 2 * along / max(across, 1.0) for g in glyphs]
    pairs = [
        (middles[i + 1] - middles[i], (need[i] + need[i + 1]) / 2)
        for i in range(len(glyphs) - 1)
        if _spaced(glyphs[i].text) and _spaced(glyphs[i + 1].text)
    ]
    if len(pairs) < 3:
        return glyphs
    pitch = median(gap / wanted for gap, wanted in pairs)
    result = []
    for i, glyph in enumerate(glyphs):
        result.append(glyph)
        if i + 1 == len(glyphs):
            break
        after = glyphs[i + 1]
        if _spaced(glyph.text) and _spaced(after.text):
            gap, wanted = middles[i + 1] - middles[i], (need[i] + need[i + 1]) / 2
            if gap > WIDE_GAP * pitch * wanted and gap > LEAST_GAP + pitch * wanted:
                result.append(_space_between(glyph, after))
    return result


def _starts_gap(glyphs: Sequence[Glyph], index: int) -> bool:
    """Whether a space is the first of its gap; one gap is one space."""
    return index == 0 or glyphs[index - 1].text != SPACE


def _spaced(char: str) -> bool:
    return char != SPACE and not is_ideographic(char)


def _advance(char: str) -> float:
    """Typical advance width relative to a lower-case letter."""
    if char in _NARROW:
        return 0.65
    if char in _WIDE or is_ideographic(char):
        return 1.6
    return 1.25 if char.isupper() else 1.0


def _space_between(left: Glyph, right: Glyph) -> Glyph:
    return Glyph(
        text=SPACE,
        start=left.end,
        end=max(left.end, right.start),
        probability=1.0,
        margin=1.0,
        entropy=0.0,
    )


def _break_between(left: str, right: str) -> bool:
    return is_ideographic(left) != is_ideographic(right)


def _word(run: Sequence[Character]) -> tuple[Word, ...]:
    if not run:
        return ()
    weakest = min(c.score_raw for c in run)
    return (
        Word(
            text="".join(c.text for c in run),
            quad=span(c.quad for c in run),
            score_raw=weakest,
            confidence=weakest,
            characters=tuple(run),
        ),
    )
