from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.fakes.any_document import lines
from tests.fakes.pages_of_text import TEXTS, placed_line
from tierocr.shared.document import Line
from tierocr.shared.export.spelling import pieces_of, text_of


@settings(deadline=None)
@given(lines)
def test_pieces_spell_the_line_whatever_its_words_say(line: Line) -> None:
    assert text_of(pieces_of(line)) == line.text


@pytest.mark.parametrize("text", TEXTS)
def test_every_word_is_a_piece_of_its_own(text: str) -> None:
    pieces = pieces_of(placed_line(text, 0, 0))
    assert [p.text for p in pieces] == text.split(" ")
    assert text_of(pieces) == text


def test_runs_without_a_space_between_them_stay_apart() -> None:
    line = placed_line("合计 12", 0, 0)
    joined = replace(line, text="合计12")
    assert [(p.text, p.space) for p in pieces_of(joined)] == [("合计", False), ("12", False)]


@pytest.mark.parametrize("text", ["a  b", "a\u3000b", "a\tb"])
def test_other_gaps_keep_words_together(text: str) -> None:
    line = replace(placed_line("a b", 0, 0), text=text)
    (piece,) = pieces_of(line)
    assert piece.text == text and piece.quad == line.region.quad


@pytest.mark.parametrize("text", [" a b", "a b ", "a c", "b a", ""])
def test_words_that_do_not_spell_the_line_are_left_out(text: str) -> None:
    line = replace(placed_line("a b", 0, 0), text=text)
    assert [p.text for p in pieces_of(line)] == [text]
