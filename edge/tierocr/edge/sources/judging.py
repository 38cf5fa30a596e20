"""Whether a file that was read may be taken, or may still be a part of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tierocr.shared.document import FAILED, Document, Failure, Page

MAYBE_PARTIAL = frozenset(("bad_image", "internal"))
"""What a file may fail with that will read well once it is complete, or the engine is well."""


CUT_OFF = "truncated"
"""The warning of a page whose picture ends too early; what is there of it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a file is not taken. `hopeless`: waiting cannot help."""

    failure: Failure
    hopeless: bool


def objection(document: Document, *, last: bool) -> Objection | None:
    """None where the document may go out. `last`: no later attempt will be made, so pages that
    could be read as a whole count, and those that could not are told of in the document.
    """
    if document.status == FAILED:
        failures = [*document.errors, _NOTHING]
        hopeless = last or failures[0].code not in MAYBE_PARTIAL
        return Objection(failure=failures[0], hopeless=hopeless)
    partial = [f for f in document.errors if f.code in MAYBE_PARTIAL]
    cut_off = [p for p in document.pages if CUT_OFF in p.warnings]
    partial += [_cut_off(p) for p in cut_off]
    if not partial:
        return None
    whole = any(p.error is None and CUT_OFF not in p.warnings for p in document.pages)
    if last and whole:
        return None
    return Objection(failure=partial[0], hopeless=last)


_NOTHING = Failure(code="bad_image", message="no page could be read")


def _cut_off(page: Page) -> Failure:
    return Failure(code="bad_image", message=f"page {page.index + 1}: the picture is cut off")
