"""Whether the model still reads what it must: a page whose text is known.

Once when a model is opened the whole page, later a line of it now and then: that takes the device
milliseconds, and finds a device that has begun to compute nonsense. Must not know when it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierocr.shared.cropping import cut
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.tune import canary_page, same_text

LINES = 2
"""How many lines are read again later, the longest ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Canary:
    """Crops of single lines and what they say."""

    crops: tuple[Pixels, ...]
    texts: tuple[str, ...]

    def check(self, reader: Reader) -> None:
        """Raise TierocrError `model_invalid` when the crops are not read as they must be."""
        found = tuple(reading.text for reading in reader.recogniser.read(self.crops))
        if found != self.texts:
            raise TierocrError("model_invalid", f"the canary reads {found}, not {self.texts}")


def first_check(pack: Pack, reader: Reader) -> Canary | None:
    """Read the pack's canary page, and have its lines for later; None for a pack without one.

    Raises TierocrError `model_invalid` when anything on it is read otherwise than stored.
    """
    if pack.manifest.canary is None:
        return None
    page = canary_page(pack)
    lines = reader.read(page).page.lines
    texts = tuple(line.text for line in lines)
    if not same_text(pack.manifest.canary.lines, texts):
        wrong = sorted(set(texts) ^ set(pack.manifest.canary.lines))
        raise TierocrError(
            "model_invalid", f"pack {pack.name} does not read its canary page right: {wrong[:4]}"
        )
    longest = sorted(lines, key=lambda line: -len(line.text))[:LINES]
    crops = tuple(cut(page.pixels, line.region.quad) for line in longest)
    read = tuple(reading.text for reading in reader.recogniser.read(crops))
    return Canary(crops=crops, texts=read)
