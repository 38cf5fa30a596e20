"""Whether a file that was read may be taken, or may still be a part of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tierocr.shared.document import FAILED, Document, Failure

MAYBE_PARTIAL = frozenset(("bad_image", "internal"))
"""What a file may fail with that will read well once it is complete, or the engine is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a file is not taken. `hopeless`: waiting cannot help."""

    failure: Failure
    hopeless: bool


def objection(document: Document, *, last: bool) -> Objection | None:
    """None where the document may go out. `last`: no later attempt will be made, so pages that
    could be read count, and those that could not are told of in the document.
    """
    failures = [*document.errors] or [Failure(code="bad_image", message="no page could be read")]
    if document.status == FAILED:
        first = failures[0]
        return Objection(failure=first, hopeless=last or first.code not in MAYBE_PARTIAL)
    partial = next((f for f in document.errors if f.code in MAYBE_PARTIAL), None)
    if partial is not None and not last:
        return Objection(failure=partial, hopeless=False)
    return None
