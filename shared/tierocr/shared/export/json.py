"""The result format `tierocr.document/1`: a `Document` as JSON.

The published schema is `document.schema.json` beside this file. Coordinates are rounded to a
hundredth of a pixel, probabilities to four digits.
"""

from __future__ import annotations

import json
from contextlib import suppress
from importlib import resources
from typing import Any

from pydantic_core import PydanticSerializationError
from pydantic_core import to_json as to_indented

from tierocr.shared.document import (
    Character,
    Document,
    Failure,
    Line,
    Page,
    Quad,
    Word,
)

SCHEMA = "tierocr.document/1"


def to_json(document: Document, *, indent: int | None = 1) -> str:
    """The document as JSON text, not escaped beyond what JSON needs."""
    tree = to_tree(document)
    if indent is not None:  # json's own is slow then: it is in Python
        with suppress(PydanticSerializationError):  # a name that is no text, which json can write
            return to_indented(tree, indent=indent).decode()
    return json.dumps(tree, ensure_ascii=False, indent=indent)


def to_tree(document: Document) -> dict[str, Any]:
    """The document as dictionaries and lists, in the shape of the published schema."""
    calibration = document.calibration
    return {
        "schema": SCHEMA,
        "id": document.id,
        "version": document.version,
        "status": document.status,
        "input": {"name": document.name, "sha256": document.sha256},
        "engine": {
            "pack": document.engine.pack,
            "precision": document.engine.precision,
            "runtime": document.engine.runtime,
        },
        "calibration": calibration
        and {"id": calibration.id, "n": calibration.n, "ece": calibration.ece},
        "timings": document.timings,
        "errors": [_failure(e) for e in document.errors],
        "pages": [page_tree(p) for p in document.pages],
    }


def published_schema() -> dict[str, Any]:
    """The JSON Schema of the result format."""
    text = resources.files(__package__).joinpath("document.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def page_tree(page: Page) -> dict[str, Any]:
    """One page of the tree."""
    return {
        "index": page.index,
        "width": page.width,
        "height": page.height,
        "dpi": page.dpi,
        "orientation": page.orientation,
        "transform": [list(row) for row in page.transform],
        "scale": page.scale,
        "warnings": list(page.warnings),
        "error": _failure(page.error) if page.error else None,
        "lines": [_line(line, order) for order, line in enumerate(page.lines)],
    }


def _line(line: Line, order: int) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "order": order,
        "text": line.text,
        "polygon": _polygon(line.region.quad),
        "confidence": _probability(line.confidence),
        "score_raw": _probability(line.score_raw),
        "angle": line.angle,
        "truncated": line.truncated,
        "source": line.source,
        "status": line.status,
        "alternatives": [
            {"text": a.text, "source": a.source, "score_raw": _probability(a.score_raw)}
            for a in line.alternatives
        ],
        "route": None,
        "words": [_word(w) for w in line.words],
    }
    if line.text_raw is not None:
        tree["text_raw"] = line.text_raw
    if line.route is not None:
        tree["route"] = {
            "reason": line.route.reason,
            "p_error": _probability(line.route.p_error),
            "bytes": line.route.bytes,
        }
    return tree


def _word(word: Word) -> dict[str, Any]:
    return {**_leaf(word), "chars": [_leaf(c) for c in word.characters]}


def _leaf(part: Word | Character) -> dict[str, Any]:
    return {
        "text": part.text,
        "polygon": _polygon(part.quad),
        "confidence": _probability(part.confidence),
        "score_raw": _probability(part.score_raw),
    }


def _failure(failure: Failure) -> dict[str, str]:
    return {"code": failure.code, "message": failure.message}


def _polygon(quad: Quad) -> list[list[float]]:
    return [[round(x, 2), round(y, 2)] for x, y in quad]


def _probability(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)
