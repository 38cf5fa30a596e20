"""The one door through which anything of a page leaves the device.

Takes the page's pixels and the lines that were planned, gives the bytes and the texts that may be
sent. Whoever sends lines, now or weeks later, sends what came out here and nothing else, so a rule
about what must never leave has one place to stand. Must not know who receives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierocr.edge.crops import Crop, PageCrop, encode_lines
from tierocr.shared.document import Line, Pixels

Leave = Callable[[Pixels, Sequence[Line], Sequence[int], str], dict[int, Crop]]
"""Page pixels (upright), all lines of the page, indices of those planned, name of the source ->
what may leave, by index. A line without an entry stays.
"""

LeavePage = Callable[[Pixels, Sequence[Line], str], PageCrop | None]
"""The same, for a page as a whole; None where no page may leave."""


def plain_lines(
    pixels: Pixels, lines: Sequence[Line], planned: Sequence[int], source: str
) -> dict[int, Crop]:
    """Every planned line as it is. Raises TierocrError `internal` if encoding fails."""
    return encode_lines(pixels, lines, planned)


def no_page(pixels: Pixels, lines: Sequence[Line], source: str) -> PageCrop | None:
    """No page leaves as a whole: nobody said that it may."""
    return None
