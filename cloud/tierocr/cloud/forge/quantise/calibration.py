"""What quantisation is calibrated on: crops and pages, turned into the tensors a reader would make.

From our own seeded generator unless a labelled folder is given. The pixels pass through the
product's own preparation, so that the ranges seen are the ranges met later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tierocr.cloud.forge.labelled import load_lines
from tierocr.cloud.forge.lines.folder import LABELS
from tierocr.cloud.forge.lines.generator import generate_lines
from tierocr.cloud.forge.lines.pages import generate_pages
from tierocr.shared import detection, recognition
from tierocr.shared.detection import DetectorFacts, Tile
from tierocr.shared.document import Floats, PageImage, Pixels
from tierocr.shared.engines import NetworkFacts
from tierocr.shared.engines.arrays import normalise
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, decode_pages
from tierocr.shared.recognition import RecogniserFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where crops and pages come from. `folder`: a labelled folder, None for the generator.

    `seed` is the generator's; `lines` and `pages` are how many are taken at most.
    """

    seed: int = 1
    lines: int = 100
    pages: int = 40
    folder: Path | None = None

    def describe(self) -> str:
        """For the pack's record: no path of this machine."""
        if self.folder is not None:
            return f"folder {self.folder.name}, {self.lines} lines, {self.pages} pages at most"
        return f"generator, seed {self.seed}, {self.lines} lines, {self.pages} pages"


def crops(source: Source) -> Iterator[Pixels]:
    """(h, w, 3) uint8 BGR crops of single lines. Raises TierocrError as the source does."""
    if source.folder is None:
        for line in generate_lines(source.seed, source.lines):
            yield line.image
    else:
        for _, labelled in zip(range(source.lines), load_lines(source.folder), strict=False):
            yield labelled.image


def pages(source: Source) -> Iterator[Pixels]:
    """(h, w, 3) uint8 BGR pages. Raises TierocrError: `not_found` for a folder without images."""
    if source.folder is None:
        for sheet in generate_pages(source.seed, source.pages):
            yield sheet.pixels
        return
    files = sorted(p for p in (source.folder / "images").glob("*") if p.is_file())
    if not files:
        raise TierocrError("not_found", f"no images beside {source.folder / LABELS}")
    for file in files[: source.pages]:
        page = next(iter(decode_pages(file.read_bytes(), limits=Limits())))
        if isinstance(page, PageImage):
            yield page.pixels


def line_tensors(lines: Iterable[Pixels], facts: RecogniserFacts) -> list[Floats]:
    """One (1, 3, height, W) float32 tensor a crop, W its width bucket; lines too long for one
    input are left out.
    """
    network = NetworkFacts(mean=(facts.mean,) * 3, std=(facts.std,) * 3)
    tensors = []
    for crop in lines:
        prepared = recognition.prepare(crop, facts)
        if prepared.shape[1] <= facts.max_width:
            width = recognition.input_width(prepared.shape[1], facts)
            batch = recognition.to_batch([prepared], width, facts)
            tensors.append(normalise(batch, network))
    return tensors


def page_tensors(sheets: Iterable[Pixels], facts: DetectorFacts) -> list[Floats]:
    """One (1, 3, H, W) float32 tensor a page, as the detector first looks at it."""
    network = NetworkFacts(mean=facts.mean, std=facts.std)
    tensors = []
    for pixels in sheets:
        height, width = pixels.shape[:2]
        scale = min(1.0, facts.side / max(height, width))
        whole = Tile(x0=0, y0=0, x1=width, y1=height)
        batch, _, _ = detection.to_batch(pixels, whole, scale, facts)
        tensors.append(normalise(batch, network))
    return tensors
