"""A line as pieces that have a place each; shared by the exporters that place every word. Pure.

Put together again, with a space where one is due, the pieces are exactly the line's text, whatever
its words say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tierocr.shared.document import Line, Point, Quad, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`space`: whether a space follows before the next piece."""

    text: str
    quad: Quad
    confidence: float
    space: bool = False


def pieces_of(line: Line) -> list[Piece]:
    """The words of a line where they spell its text, else the whole line. Words with something
    other than one space or nothing between them stay together.
    """
    pieces: list[Piece] = []
    position = 0
    for word in line.words:
        start = line.text.find(word.text, position) if word.text else -1
        gap = line.text[position:start] if start >= 0 else "?"
        if not word.text or gap.strip() or (gap and not pieces):
            return [_whole(line)]
        if not pieces or gap == "":
            pieces.append(_piece(word))
        elif gap == " ":
            pieces[-1] = _with_space(pieces[-1])
            pieces.append(_piece(word))
        else:
            pieces[-1] = _joined(pieces[-1], gap, word)
        position = start + len(word.text)
    if not pieces or position != len(line.text):
        return [_whole(line)]
    return pieces


def text_of(pieces: Sequence[Piece]) -> str:
    """What they spell."""
    return "".join(p.text + " " * p.space for p in pieces)


def _whole(line: Line) -> Piece:
    return Piece(text=line.text, quad=line.region.quad, confidence=line.confidence)


def _piece(word: Word) -> Piece:
    return Piece(text=word.text, quad=word.quad, confidence=word.confidence)


def _with_space(piece: Piece) -> Piece:
    return Piece(text=piece.text, quad=piece.quad, confidence=piece.confidence, space=True)


def _joined(piece: Piece, gap: str, word: Word) -> Piece:
    (tl, _, _, bl), (_, tr, br, _) = piece.quad, word.quad
    corners: tuple[Point, Point, Point, Point] = (tl, tr, br, bl)
    return Piece(
        text=piece.text + gap + word.text,
        quad=corners,
        confidence=min(piece.confidence, word.confidence),
    )
