"""When the cloud's text is taken, and what the line is then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.cloud import reading
from tests.fakes.lines import PLACE, read_line
from tierocr.edge.merging import LENGTH_SLACK, LOOP_REPEATS, has_loop, refusal, take
from tierocr.shared.document import CLOUD, EDGE, Alternative, Failure
from tierocr.shared.geometry import bounds, rectangle
from tierocr.shared.protocol import Refined

QUAD = rectangle(6, 16, 214, 64)

plain = st.text("abcdefghij ABCDEFGHIJ0123456789.,:-", min_size=1, max_size=30)
any_text = st.text(max_size=40)


@pytest.mark.parametrize(
    ("edge", "cloud", "reason"),
    [
        ("Total 12.50", "", "empty"),
        ("Total 12.50", " \u3000 ", "empty"),
        ("Total 12.50", "Total\x0012.50", "control"),
        ("Total 12.50", "Total\n12.50", "control"),
        ("Total 12.50", "Total\x1b[31m12", "control"),
        ("Total 12.50", "Total\u202812.50", "control"),
        ("Total 12.50", "Total\u202912.50", "control"),
        ("Total 12.50", "Total \ue000\ue001", "control"),
        ("Total 12.50", "Total \ud800", "control"),
        ("Total 12.50", "Total \uffff", "control"),
        ("Total 12.50", "T", "length"),
        ("Total 12.50", "Total 12.50 and a great deal more than that", "length"),
        ("Total 12.50 EUR", "12121212121212", "loop"),
        ("哈哈笑了很多次啊", "哈笑哈笑哈笑哈笑哈笑", "loop"),
        ("Total 12.50", "Total ١٢ شكرا", "script"),
        ("Total 12.50", "Total ไทย", "script"),
        ("发票号码", "เลขที่", "script"),
        ("Total 12.50", "Total 12.80", None),
        ("Tota1 12.50", " Total 12.50 ", None),
        ("合计", "总计：", None),
        ("合计 12", "Total 12", None),
        ("שלום 12", "שלום 13", None),  # the edge saw this script too
        ("------------", "------------", None),
        ("ab", "abcdefg", None),  # a few characters more are no sign of anything
        ("5 pm", "5 µm", None),
        ("N* 12", "Nº 12", None),
        ("2a planta", "2ª planta", None),
        ("10 A", "10 \u212b", None),
        ("佐佐木", "佐々木", None),
    ],
)
def test_sanity(edge: str, cloud: str, reason: str | None) -> None:
    answer = Refined(id="0", text=cloud, score_raw=0.99, confidence=0.99)
    assert refusal(read_line(edge), answer, both_calibrated=False) == reason


def test_an_error_is_no_answer() -> None:
    failed = replace(reading("0", "Total 12.50"), error=Failure(code="bad_image", message="no"))
    assert refusal(read_line("Total 12.50"), failed, both_calibrated=False) == "error"


@given(plain, plain, st.floats(0, 1), st.floats(0, 1))
def test_probabilities_are_compared_only_when_both_are_calibrated(
    edge: str, cloud: str, ours: float, theirs: float
) -> None:
    line, answer = read_line(edge, ours), reading("0", cloud, score=theirs)
    sure = refusal(line, reading("0", cloud, score=1.0), both_calibrated=False)
    assert refusal(line, answer, both_calibrated=False) == sure
    if sure is None:
        expected = "less_probable" if theirs < ours else None
        assert refusal(line, answer, both_calibrated=True) == expected


@given(any_text, any_text)
def test_only_sane_texts_pass(edge: str, cloud: str) -> None:
    answer = Refined(id="0", text=cloud, score_raw=0.9, confidence=0.9)
    if refusal(read_line(edge), answer, both_calibrated=False) is None:
        text = cloud.strip()
        assert len(text.splitlines()) == 1
        assert not has_loop(text)
        e, c = len(edge.replace(" ", "")), len(text.replace(" ", ""))
        assert e / 2 - LENGTH_SLACK <= c <= 2 * e + LENGTH_SLACK


@given(plain.filter(lambda text: text.strip() and not has_loop(text.strip())))
def test_agreement_is_always_taken(text: str) -> None:
    assert refusal(read_line(text), reading("0", text), both_calibrated=False) is None


@given(any_text, plain, st.floats(0, 1), st.floats(0, 1))
def test_both_texts_stay(edge: str, cloud: str, ours: float, theirs: float) -> None:
    earlier = Alternative(text="before", source="cache", score_raw=0.1)
    before = read_line(edge, ours, alternatives=(earlier,), angle=3.0)
    after = take(before, reading("0", cloud, score=theirs), QUAD)
    assert (after.text, after.source) == (cloud.strip(), CLOUD)
    assert (after.score_raw, after.confidence) == (theirs, theirs)
    assert after.alternatives == (earlier, Alternative(text=edge, source=EDGE, score_raw=ours))
    assert after.region == before.region  # the place is the line's own, not the crop's
    assert after.angle == before.angle and after.signals == before.signals


@given(plain.filter(str.strip))
def test_words_spell_the_text_inside_the_crop(text: str) -> None:
    after = take(read_line(), reading("0", text), QUAD)
    assert "".join(w.text for w in after.words) == "".join(text.split())
    x0, y0, x1, y1 = bounds(QUAD)
    for word in after.words:
        assert word.text == "".join(c.text for c in word.characters)
        for quad in (word.quad, *(c.quad for c in word.characters)):
            left, top, right, bottom = bounds(quad)
            assert x0 - 1e-6 <= left <= right <= x1 + 1e-6
            assert y0 - 1e-6 <= top <= bottom <= y1 + 1e-6
    lefts = [bounds(c.quad)[0] for w in after.words for c in w.characters]
    assert lefts == sorted(lefts)


def test_words_are_left_out_where_the_characters_spell_something_else() -> None:
    odd = replace(reading("0", "Total"), text="Totale")
    after = take(read_line(), odd, QUAD)
    assert after.text == "Totale" and after.words == ()
    assert after.region.quad == PLACE
    assert take(read_line(), replace(odd, chars=()), QUAD).words == ()


@given(
    st.text("abc", min_size=2, max_size=12).filter(lambda t: len(set(t)) > 1),
    st.text("xyz", max_size=8),
    st.text("xyz", max_size=8),
    st.integers(LOOP_REPEATS, 9),
)
def test_a_loop_is_found_wherever_it_stands(
    piece: str, before: str, behind: str, repeats: int
) -> None:
    assert has_loop(before + piece * repeats + behind)


@pytest.mark.parametrize("text", ["abababab", "哈笑" * 4, "0.50 0.50 0.50 0.50", "Mississippi", ""])
def test_a_few_repeats_are_no_loop(text: str) -> None:
    assert not has_loop(text)


@given(st.characters(), st.integers(0, 60))
def test_one_sign_alone_is_a_rule_not_a_loop(sign: str, count: int) -> None:
    assert not has_loop(sign * count)


@given(any_text)
def test_the_loop_rule_means_what_it_says(text: str) -> None:
    expected = any(
        text[start : start + size] * LOOP_REPEATS == text[start : start + size * LOOP_REPEATS]
        and len(set(text[start : start + size])) > 1
        for size in range(2, 13)
        for start in range(len(text))
    )
    assert has_loop(text) == expected
