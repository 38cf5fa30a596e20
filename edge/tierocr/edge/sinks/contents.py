"""What is written of a document: its formats, as bytes. Must not know where they go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tierocr.edge.reading import page_images, with_rules
from tierocr.shared.document import FAILED, Document
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import FORMATS, PICTURE_FORMATS
from tierocr.shared.images import Limits

_log = logging.getLogger(__name__)
JSON = "json"
Original = Callable[[], bytes]
"""The file that a document was read from. Raises TierocrError when it is not kept."""


def contents(
    document: Document,
    formats: Sequence[str],
    original: Original,
    *,
    rules: Sequence[str] = (),
    limits: Limits | None = None,
) -> list[tuple[str, bytes]]:
    """Ending and bytes of each format. Of a document that could not be read only JSON can say so;
    an empty text would look like a blank page. A format that shows pages is left out where these
    are gone; raises TierocrError `not_found` if there is no other.
    """
    document = with_rules(document, rules)
    found = []
    for name in formats:
        if name in FORMATS and (name == JSON or document.status != FAILED):
            chosen = FORMATS[name]
            # a file name that is no text has lone surrogates: escaped, as JSON would
            found.append((chosen.ending, chosen.export(document).encode(errors="backslashreplace")))
    for name in formats if document.status != FAILED else ():
        if name in PICTURE_FORMATS:
            try:
                pictures = page_images(original(), limits or Limits())
                picture = PICTURE_FORMATS[name]
                found.append((picture.ending, picture.export(document, pictures)))
            except TierocrError as error:
                if error.code != "not_found" or not found:
                    raise
                _log.warning("%s: no %s, as its pages are no longer there", document.id, name)
    return found
