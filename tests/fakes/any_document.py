"""Any document that the format can carry, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.fakes.documents import ENGINE
from tierocr.shared.document import (
    Alternative,
    Calibration,
    Character,
    Document,
    Failure,
    Line,
    Page,
    Quad,
    Region,
    Route,
    Signals,
    Word,
)
from tierocr.shared.errors import ERROR_CODES

texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from('中文字合计元€"\\\n')))
finite = st.floats(-1e5, 1e5)
points = st.tuples(finite, finite)
quads: st.SearchStrategy[Quad] = st.tuples(points, points, points, points)
probabilities = st.floats(0, 1)
failures = st.builds(Failure, code=st.sampled_from(sorted(ERROR_CODES)), message=texts)


def scored(kind: type[Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = {"text": texts, "score_raw": probabilities, "confidence": probabilities}
    return st.builds(kind, **values, **more)


def few(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=3).map(tuple)


characters = scored(Character, quad=quads)
words = scored(Word, quad=quads, characters=few(characters))
sources = st.sampled_from(["edge", "cloud", "text_layer", "cache"])
statuses = st.sampled_from(["final", "provisional", "failed"])
lines = scored(
    Line,
    region=st.builds(Region, quad=quads, score=probabilities),
    words=few(words),
    signals=st.one_of(
        st.none(),
        st.just(
            Signals(
                min_probability=0.5,
                mean_probability=0.6,
                margin=0.1,
                entropy=0.2,
                weak=0,
                length=3,
                crop_height=20.0,
                detector_score=0.9,
            )
        ),
    ),
    angle=st.floats(-180, 180),
    truncated=st.booleans(),
    source=sources,
    status=statuses,
    text_raw=st.one_of(st.none(), texts),
    alternatives=few(st.builds(Alternative, text=texts, source=sources, score_raw=probabilities)),
    route=st.one_of(
        st.none(),
        st.builds(Route, reason=texts, p_error=probabilities, bytes=st.integers(0, 10**6)),
    ),
)
pages = st.builds(
    Page,
    index=st.integers(0, 999),
    width=st.integers(0, 65_500),
    height=st.integers(0, 65_500),
    dpi=st.one_of(st.none(), st.floats(1, 2400)),
    orientation=st.sampled_from([0, 90, 180, 270]),
    scale=st.floats(0.01, 4),
    warnings=few(texts),
    error=st.one_of(st.none(), failures),
    lines=few(lines),
)
documents = st.builds(
    Document,
    id=texts,
    name=texts,
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    status=statuses,
    engine=st.just(ENGINE),
    version=st.integers(1, 9),
    calibration=st.one_of(
        st.none(), st.builds(Calibration, id=texts, n=st.integers(0, 10**6), ece=probabilities)
    ),
    pages=few(pages),
    timings=st.dictionaries(texts, st.floats(0, 1000), max_size=3),
    errors=few(failures),
)
