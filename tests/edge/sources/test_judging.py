from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.documents import document_with, line_at, page_with
from tierocr.edge.sources.judging import CUT_OFF, objection
from tierocr.shared.document import Failure, Page
from tierocr.shared.images.raster import TRUNCATED

CUT = Failure(code="bad_image", message="page 2: cut off")
GOOD = page_with([line_at("a", 0, 0)])
BAD = Page(index=1, width=0, height=0, error=CUT)


def test_a_whole_document_may_go_out() -> None:
    assert objection(document_with(GOOD), last=False) is None


@pytest.mark.parametrize("code", ["encrypted", "unsupported_format", "too_large"])
def test_waiting_does_not_help_against_everything(code: str) -> None:
    failed = document_with(status="failed", errors=(Failure(code=code, message="no"),))
    found = objection(failed, last=False)
    assert found is not None and found.hopeless and found.failure.code == code


def test_what_cannot_be_decoded_may_be_a_part() -> None:
    failed = document_with(status="failed", errors=(CUT,))
    first, last = objection(failed, last=False), objection(failed, last=True)
    assert first is not None and not first.hopeless
    assert last is not None and last.hopeless


def test_pages_that_are_missing_are_waited_for_and_then_told_of() -> None:
    document = document_with(GOOD, BAD, errors=(CUT,))
    found = objection(document, last=False)
    assert found is not None and not found.hopeless
    assert objection(document, last=True) is None
    large = replace(document, errors=(Failure(code="too_large", message="page 2"),))
    assert objection(large, last=False) is None


def test_a_failure_without_a_reason_has_one() -> None:
    found = objection(document_with(status="failed"), last=True)
    assert found is not None and found.failure.code == "bad_image"


def test_a_picture_that_is_cut_off_is_waited_for() -> None:
    assert CUT_OFF == TRUNCATED
    cut = replace(GOOD, index=1, warnings=(TRUNCATED,))
    for pages in ((cut,), (GOOD, cut)):
        found = objection(document_with(*pages), last=False)
        assert found is not None and not found.hopeless
        assert found.failure.message == "page 2: the picture is cut off"
    alone = objection(document_with(cut), last=True)
    assert alone is not None and alone.hopeless
    assert objection(document_with(GOOD, cut), last=True) is None
