"""Which characters labels may have."""

from __future__ import annotations

from collections.abc import Collection

from tierocr.shared.models.store import find_pack

PACK = "edge-tiny"
"""The pack whose characters are used unless told otherwise."""


def allowed_characters(charset: Collection[str] | None) -> frozenset[str]:
    """The characters to use: those given, or the ones that the recogniser of `PACK` can say.

    Raises TierocrError `model_invalid` when that pack is missing.
    """
    return frozenset(find_pack(PACK).charset() if charset is None else charset)
