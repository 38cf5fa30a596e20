"""Lines as the edge reads them, with the signals that routing looks at."""

from __future__ import annotations

from typing import Any

from tierocr.shared.document import EDGE, Line, Quad, Region, Signals
from tierocr.shared.geometry import rectangle

PLACE = rectangle(10, 20, 210, 60)


def read_line(
    text: str = "Total 12.50",
    score: float = 0.5,
    *,
    margin: float | None = 0.3,
    source: str = EDGE,
    quad: Quad = PLACE,
    **more: Any,
) -> Line:
    """A line of which every character has the same probability."""
    signals = None
    if margin is not None:
        signals = Signals(
            min_probability=score,
            mean_probability=score,
            margin=margin,
            entropy=0.5,
            weak=0,
            length=len(text),
            crop_height=40.0,
            detector_score=0.9,
        )
    return Line(
        region=Region(quad=quad, score=0.9),
        text=text,
        score_raw=score,
        confidence=more.pop("confidence", score),
        signals=signals,
        source=source,
        **more,
    )
