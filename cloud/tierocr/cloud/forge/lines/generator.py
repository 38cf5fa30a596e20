"""Labelled lines and pages from a seed.

Line i depends on the seed and i only, so a longer run starts with the same lines as a shorter one,
and two seeds have nothing in common: one for calibration, another for the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from tierocr.cloud.forge.lines.charset import allowed_characters
from tierocr.cloud.forge.lines.looks import any_look, any_medium
from tierocr.cloud.forge.lines.printing import print_crop
from tierocr.cloud.forge.lines.wear import worn
from tierocr.cloud.forge.lines.wording import any_kind, phrase
from tierocr.cloud.forge.sample_pages.canvas import is_wide
from tierocr.shared.document import Pixels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeneratedLine:
    """A crop of one line and what it says.

    `image`: (h, w, 3) uint8 BGR, reading left to right. `kind`: a key of `wording.KINDS`. `medium`:
    see `looks.Medium`.
    """

    image: Pixels
    text: str
    kind: str
    medium: str


def generate_lines(
    seed: int, count: int, *, charset: Collection[str] | None = None
) -> Iterator[GeneratedLine]:
    """Lines 0 to count - 1 of a seed. `charset`: the characters that labels may have, besides
    spaces; None for those of `charset.PACK`.

    Raises TierocrError `not_found` when a font is missing, `model_invalid` when the pack is.
    """
    allowed = allowed_characters(charset)
    for index in range(count):
        yield _line(np.random.default_rng([seed, index]), allowed)


def _line(rng: np.random.Generator, allowed: frozenset[str]) -> GeneratedLine:
    kind, medium = any_kind(rng), any_medium(rng)
    text = phrase(rng, kind, allowed)
    look = any_look(rng, wide=is_wide(text), medium=medium)
    clean = print_crop(rng, text, look, lambda: phrase(rng, kind, allowed))
    image = worn(clean, rng, medium, look.size)
    return GeneratedLine(image=image, text=text, kind=kind, medium=medium)
