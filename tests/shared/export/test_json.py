from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from tests.fakes.any_document import documents
from tests.fakes.documents import document_with, line_at, page_with
from tierocr.shared.document import (
    Alternative,
    Calibration,
    Character,
    Document,
    Failure,
    Line,
    Page,
    Region,
    Route,
    Word,
)
from tierocr.shared.export import FORMATS, PICTURE_FORMATS
from tierocr.shared.export.json import SCHEMA, published_schema, to_json, to_tree

VALIDATOR = jsonschema.Draft202012Validator(published_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(published_schema())
    assert published_schema()["properties"]["schema"]["const"] == SCHEMA


@settings(deadline=None)
@given(documents)
def test_any_document_fits_the_published_schema(document: Document) -> None:
    tree = json.loads(to_json(document))
    VALIDATOR.validate(tree)
    assert tree == json.loads(json.dumps(to_tree(document)))
    assert len(tree["pages"]) == len(document.pages)
    for page, source in zip(tree["pages"], document.pages, strict=True):
        assert [line["order"] for line in page["lines"]] == list(range(len(source.lines)))
        assert [line["text"] for line in page["lines"]] == [line.text for line in source.lines]


def test_a_whole_document_by_hand() -> None:
    line = Line(
        region=Region(quad=((10.126, 20.0), (110.0, 20.0), (110.0, 40.0), (10.126, 40.0)), score=1),
        text="合计 12",
        score_raw=0.123456,
        confidence=1.00000003,
        words=(
            Word(
                text="合计",
                quad=((0, 0), (1, 0), (1, 1), (0, 1)),
                score_raw=0.5,
                confidence=0.5,
                characters=(
                    Character(
                        text="合",
                        quad=((0, 0), (0.5, 0), (0.5, 1), (0, 1)),
                        score_raw=0.5,
                        confidence=0.5,
                    ),
                ),
            ),
        ),
        source="cloud",
        text_raw="合 计 12",
        alternatives=(Alternative(text="台计 12", source="edge", score_raw=0.4),),
        route=Route(reason="risk", p_error=0.25, bytes=812),
    )
    failed = Page(index=1, width=0, height=0, error=Failure(code="bad_image", message="no"))
    document = document_with(
        Page(index=0, width=200, height=100, dpi=300.0, orientation=90, lines=(line,)),
        failed,
        calibration=Calibration(id="c1", n=1000, ece=0.01),
        timings={"detect": 0.5},
        errors=(Failure(code="bad_image", message="page 2: no"),),
    )
    tree = to_tree(document)
    VALIDATOR.validate(tree)
    assert tree["schema"] == "tierocr.document/1"
    assert tree["input"] == {"name": "a.png", "sha256": "0" * 64}
    assert tree["calibration"] == {"id": "c1", "n": 1000, "ece": 0.01}
    assert tree["errors"] == [{"code": "bad_image", "message": "page 2: no"}]
    first, second = tree["pages"]
    assert first["error"] is None and first["orientation"] == 90 and first["dpi"] == 300
    assert second["error"] == {"code": "bad_image", "message": "no"} and second["lines"] == []
    (told,) = first["lines"]
    assert told["polygon"][0] == [10.13, 20.0]
    assert (told["score_raw"], told["confidence"]) == (0.1235, 1.0)
    assert told["text_raw"] == "合 计 12" and told["source"] == "cloud"
    assert told["alternatives"] == [{"text": "台计 12", "source": "edge", "score_raw": 0.4}]
    assert told["route"] == {"reason": "risk", "p_error": 0.25, "bytes": 812}
    assert told["words"][0]["chars"][0]["text"] == "合"


def test_ideographs_are_written_as_they_are() -> None:
    text = to_json(document_with(page_with([line_at("合计 €12", 0, 0)])))
    assert '"合计 €12"' in text
    assert "\n" not in to_json(document_with(), indent=None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("status",), "done"),
        (("pages", 0, "lines", 0, "confidence"), 1.2),
        (("pages", 0, "lines", 0, "polygon"), [[0, 0], [1, 1]]),
        (("pages", 0, "orientation"), 45),
        (("input", "sha256"), "abc"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: tuple[str | int, ...], value: object) -> None:
    tree: Any = to_tree(document_with(page_with([line_at("a", 0, 0)])))
    VALIDATOR.validate(tree)
    place = tree
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(tree)


def test_formats_are_listed_once() -> None:
    assert FORMATS.keys() == {"json", "text", "markdown", "hocr", "alto"}
    assert PICTURE_FORMATS.keys() == {"pdf"}
    assert len({f.ending for f in FORMATS.values()}) == len(FORMATS)
    document = document_with(page_with([line_at("Total", 0, 0)]))
    assert all("Total" in f.export(document) for f in FORMATS.values())
