from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from tests.fakes.any_document import documents
from tests.fakes.documents import document_with, line_at, page_with
from tierocr.shared.document import Document
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.json import to_json, to_tree
from tierocr.shared.export.parse import from_json, from_tree


@settings(deadline=None)
@given(documents)
def test_what_is_read_back_is_written_the_same(document: Document) -> None:
    again = from_json(to_json(document))
    assert to_tree(again) == to_tree(document)


def test_everything_that_is_carried_comes_back() -> None:
    document = document_with(page_with([line_at("合计 12.50", 10, 20)]), version=3)
    again = from_json(to_json(document))
    (line,), (was,) = again.pages[0].lines, document.pages[0].lines
    assert (again.id, again.version, again.engine) == (document.id, 3, document.engine)
    assert (line.text, line.region.quad, line.score_raw) == (was.text, was.region.quad, 0.8)


def test_fields_of_a_later_minor_version_are_ignored() -> None:
    tree: Any = to_tree(document_with(page_with([line_at("a", 0, 0)])))
    tree["new"] = tree["pages"][0]["new"] = tree["pages"][0]["lines"][0]["new"] = 1
    tree["engine"]["new"] = tree["input"]["new"] = 1
    assert from_tree(tree).pages[0].lines[0].text == "a"


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"schema": "tierocr.document/2"}', b"\xff"])
def test_what_is_no_document_is_refused(text: str | bytes) -> None:
    with pytest.raises(TierocrError) as caught:
        from_json(text)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize("key", ["pages", "engine", "input", "version"])
def test_a_document_that_lacks_something_is_refused(key: str) -> None:
    tree = json.loads(to_json(document_with()))
    del tree[key]
    with pytest.raises(TierocrError):
        from_tree(tree)
    if key != "version":
        with pytest.raises(TierocrError):
            from_tree({**tree, key: 7})
