"""The result format `tierocr.document/1` read back: JSON to the values that it was written from.

What the format does not carry is lost: a region's score (1.0 then) and the recogniser's signals.
Writing what was read gives the same JSON again. Unknown fields are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tierocr.shared.document import (
    Alternative,
    Calibration,
    Character,
    Document,
    EngineInfo,
    Failure,
    Line,
    Matrix3,
    Page,
    Quad,
    Region,
    Route,
    Word,
)
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.json import SCHEMA

Tree = Mapping[str, Any]


def from_json(text: str | bytes) -> Document:
    """The document that a JSON text tells of. Raises TierocrError `bad_request` when it tells of
    none.
    """
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TierocrError("bad_request", f"the text is no JSON: {error}") from error
    return from_tree(tree)


def from_tree(tree: object) -> Document:
    """The same from dictionaries and lists."""
    if not isinstance(tree, Mapping) or tree.get("schema") != SCHEMA:
        raise TierocrError("bad_request", f"this is not a document of {SCHEMA}")
    try:
        return _document(tree)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TierocrError("bad_request", f"not a document of {SCHEMA}: {error!r}") from error


def page_from_tree(tree: Tree) -> Page:
    """One page of the tree. Raises KeyError, TypeError or ValueError for what is none."""
    return Page(
        index=tree["index"],
        width=tree["width"],
        height=tree["height"],
        dpi=tree["dpi"],
        orientation=tree["orientation"],
        transform=cast(Matrix3, tuple(tuple(row) for row in tree["transform"])),
        scale=tree["scale"],
        warnings=tuple(tree["warnings"]),
        error=tree["error"] and _failure(tree["error"]),
        lines=tuple(_line(line) for line in tree["lines"]),
    )


def _document(tree: Tree) -> Document:
    calibration = tree["calibration"]
    return Document(
        id=tree["id"],
        version=tree["version"],
        status=tree["status"],
        name=tree["input"]["name"],
        sha256=tree["input"]["sha256"],
        engine=EngineInfo(**{k: tree["engine"][k] for k in ("pack", "precision", "runtime")}),
        calibration=calibration and Calibration(**{k: calibration[k] for k in ("id", "n", "ece")}),
        timings=dict(tree["timings"]),
        errors=tuple(_failure(e) for e in tree["errors"]),
        pages=tuple(page_from_tree(p) for p in tree["pages"]),
    )


def _line(tree: Tree) -> Line:
    route = tree["route"]
    return Line(
        region=Region(quad=_quad(tree["polygon"]), score=1.0),
        text=tree["text"],
        score_raw=tree["score_raw"],
        confidence=tree["confidence"],
        words=tuple(_word(w) for w in tree["words"]),
        angle=tree["angle"],
        truncated=tree["truncated"],
        source=tree["source"],
        status=tree["status"],
        text_raw=tree.get("text_raw"),
        alternatives=tuple(
            Alternative(text=a["text"], source=a["source"], score_raw=a["score_raw"])
            for a in tree["alternatives"]
        ),
        route=route and Route(**{k: route[k] for k in ("reason", "p_error", "bytes")}),
    )


def _word(tree: Tree) -> Word:
    return Word(**_leaf(tree), characters=tuple(Character(**_leaf(c)) for c in tree["chars"]))


def _leaf(tree: Tree) -> dict[str, Any]:
    return {
        "text": tree["text"],
        "quad": _quad(tree["polygon"]),
        "score_raw": tree["score_raw"],
        "confidence": tree["confidence"],
    }


def _failure(tree: Tree) -> Failure:
    return Failure(code=tree["code"], message=tree["message"])


def _quad(points: Sequence[Sequence[float]]) -> Quad:
    a, b, c, d = ((x, y) for x, y in points)
    return a, b, c, d
