"""What is written of a document: its formats, as bytes. Must not know where they go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierocr.edge.reading import page_images, with_rules
from tierocr.shared.document import FAILED, Document
from tierocr.shared.export import FORMATS, PICTURE_FORMATS
from tierocr.shared.images import Limits

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
    an empty text would look like a blank page.
    """
    document = with_rules(document, rules)
    found = []
    for name in formats:
        if document.status == FAILED and name != JSON:
            continue
        if name in FORMATS:
            chosen = FORMATS[name]
            # a file name that is no text has lone surrogates: escaped, as JSON would
            found.append((chosen.ending, chosen.export(document).encode(errors="backslashreplace")))
        else:
            picture = PICTURE_FORMATS[name]
            pictures = page_images(original(), limits or Limits())
            found.append((picture.ending, picture.export(document, pictures)))
    return found
