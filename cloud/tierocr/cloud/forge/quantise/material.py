"""What the gate reads: generated lines and pages, and labelled folders if any are given.

Drawn and cut once, then read by every artefact in every way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tierocr.cloud.forge.gate import GENERATED_LINES, GateLimits
from tierocr.cloud.forge.labelled import load_lines
from tierocr.cloud.forge.lines.exchange import iterate_pictures, save_pictures
from tierocr.cloud.forge.lines.generator import generate_lines
from tierocr.cloud.forge.lines.pages import generate_pages
from tierocr.cloud.forge.lines_on_pages import TextAt
from tierocr.shared.document import Pixels
from tierocr.shared.engines.processor import gated_kernels

GENERATED = "generated"

SEED_STEP = 10
"""From the seed of a calibration to that of its gate: what nobody has looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How much the gate reads and when it refuses. `seed`: not that of the calibration, nor of
    lines that somebody chose the scheme by.

    `folders`: labelled folders, read besides what is generated. `kernels`: instruction sets to read
    with, by default all that the gate asks for and this processor has. `batches`: lines that are
    read at once, the smallest and the largest number of a reader.
    """

    seed: int = 1 + SEED_STEP
    lines: int = GENERATED_LINES
    pages: int = 400
    folders: Sequence[Path] = ()
    limits: GateLimits = field(default_factory=GateLimits)
    kernels: Sequence[str] = field(default_factory=lambda: gated_kernels()[0])
    batches: Sequence[int] = (1, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSet:
    """Lines to read: a file of `exchange.save_pictures` and what its pictures say."""

    name: str
    file: Path
    texts: Sequence[str]
    generated: bool = False

    def some(self, count: int) -> list[Pixels]:
        """The first few pictures."""
        return _first(self.file, count)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSet:
    """Pages to read: a file of `exchange.save_pictures` and the lines printed on each."""

    name: str
    file: Path
    printed: Sequence[Sequence[TextAt]]

    def some(self, count: int) -> list[Pixels]:
        """The first few pages."""
        return _first(self.file, count)


class Material:
    """Makes what is wanted in a scratch folder, when it is first asked for."""

    def __init__(self, wanted: Wanted, scratch: Path, note: Callable[[str], None]) -> None:
        """`scratch` must stay for as long as the sets are used."""
        self.wanted, self._scratch, self._note = wanted, scratch, note
        self.read_exactly: dict[tuple[Path, str], tuple[bool, ...]] = {}
        """By the file of lines and the instruction set, what FP32 read exactly."""
        self._lines: list[LineSet] = []
        self._pages: PageSet | None = None

    def lines(self) -> list[LineSet]:
        """The generated lines first, then each folder's. Raises TierocrError as the sources do."""
        if not self._lines:
            self._note(f"drawing {self.wanted.lines} lines for the gate")
            drawn = ((p.image, p.text) for p in generate_lines(self.wanted.seed, self.wanted.lines))
            self._lines = [self._set(GENERATED, drawn, generated=True)]
            for folder in self.wanted.folders:
                cut = ((line.image, line.text) for line in load_lines(folder))
                self._lines.append(self._set(folder.name, cut))
        return self._lines

    def pages(self) -> PageSet:
        """The generated pages. Raises TierocrError as the generator does."""
        if self._pages is None:
            self._note(f"drawing {self.wanted.pages} pages for the gate")
            file = self._scratch / "pages.npz"
            printed: list[list[TextAt]] = []

            def sheets() -> Iterator[tuple[Pixels, str]]:
                for sheet in generate_pages(self.wanted.seed, self.wanted.pages):
                    printed.append([(line.text, line.quad) for line in sheet.lines])
                    yield sheet.pixels, ""

            save_pictures(file, sheets())
            self._pages = PageSet(name=GENERATED, file=file, printed=printed)
        return self._pages

    def _set(
        self, name: str, pictures: Iterable[tuple[Pixels, str]], *, generated: bool = False
    ) -> LineSet:
        file = self._scratch / f"lines-{len(self._lines)}-{name}.npz"
        texts: list[str] = []

        def noted() -> Iterator[tuple[Pixels, str]]:
            for pixels, text in pictures:
                texts.append(text)
                yield pixels, text

        save_pictures(file, noted())
        return LineSet(name=name, file=file, texts=texts, generated=generated)


def _first(file: Path, count: int) -> list[Pixels]:
    return [pixels for pixels, _ in itertools.islice(iterate_pictures(file), count)]
