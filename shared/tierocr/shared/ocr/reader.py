"""The Reader: one page in, one `Page` out; joins detection, recognition and the decisions between
them.

Crop -> read -> doubt: a line that was read badly is looked at once more (another margin, upside
down, as a vertical column), and the reading with the best mean character probability is kept. A
page that was read badly as a whole is turned by vote and read again.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tierocr.shared.cropping import cut, half_turn
from tierocr.shared.document import (
    EDGE,
    TEXT_LAYER,
    EngineInfo,
    Line,
    Page,
    PageImage,
    Pixels,
    Quad,
    Region,
)
from tierocr.shared.geometry import box_overlap, compose, grow, quad_size, turn, turned_page
from tierocr.shared.ocr.detector import Detector, Found
from tierocr.shared.ocr.lines import build_line
from tierocr.shared.ocr.orientation import (
    SURE,
    Vote,
    elect,
    is_column,
    mostly_columns,
    sample,
)
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.ocr.stacking import Restacked, restack, unstack
from tierocr.shared.reading_order import reading_order
from tierocr.shared.recognition import Reading

Find = Callable[[Pixels], Found]
ReadCrops = Callable[[Sequence[Pixels]], list[Reading]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOptions:
    """How a reader doubts itself.

    `margin_along`, `margin_across`: how much a region is grown before it is cut, in text heights
    and in pixels. `doubt_below`: a line whose mean character probability is lower is read a second
    way. `least_mean`: a reading below it is noise and is dropped. `find_orientation`: turn pages by
    vote.
    """

    margin_along: float = 0.1
    margin_across: float = 0.8
    doubt_below: float = 0.9
    least_mean: float = 0.5
    find_orientation: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A page and the seconds each stage took."""

    page: Page
    seconds: dict[str, float]


@dataclass(slots=True)
class _Candidate:
    """One way to read a region: the crop, the quad it was cut from, and how the reading went."""

    quad: Quad
    crop: Pixels
    stacked: Restacked | None = None
    reading: Reading | None = None

    @property
    def score(self) -> float:
        return self.reading.mean_probability if self.reading else 0.0


class Reader:
    """Reads whole pages. May be used from several threads: while one page is recognised, another
    can be detected.
    """

    def __init__(
        self,
        detector: Detector,
        recogniser: Recogniser,
        *,
        info: EngineInfo,
        options: ReaderOptions | None = None,
        source: str = EDGE,
    ) -> None:
        """Wire a detector and a recogniser. `info` says what runs; `source` is written into each
        line.
        """
        self.detector = detector
        self.recogniser = recogniser
        self.info = info
        self.options = options or ReaderOptions()
        self.source = source
        self._through: tuple[Find, ReadCrops] | None = None

    def through(self, find: Find, read_crops: ReadCrops) -> Reader:
        """The same reader, but its networks are asked by these: for networks that others use too.

        They answer as `Detector.find` and `Recogniser.read` do.
        """
        other = copy.copy(self)
        other._through = find, read_crops
        return other

    def read(self, image: PageImage) -> Timed:
        """Read one page. Raises TierocrError when an engine fails."""
        clock = _Clock()
        find = self._through[0] if self._through else self.detector.find
        pixels, quarter_turns = image.pixels, 0
        found = find(pixels)
        clock.lap("detect")
        best: list[_Candidate] = []
        on_its_side = mostly_columns(
            found.regions
        )  # or vertical writing: ask before reading it all
        if not on_its_side:
            best = self._read_regions(pixels, found.regions)
        if self.options.find_orientation and (on_its_side or _read_badly(best)):
            quarter_turns = self._vote(pixels, found.regions)
        if quarter_turns:
            pixels = np.ascontiguousarray(np.rot90(pixels, -quarter_turns))
            clock.lap("recognise")
            found = find(pixels)
            clock.lap("detect")
        if quarter_turns or on_its_side:
            best = self._read_regions(pixels, found.regions)
        self._second_look(pixels, found.regions, best)
        clock.lap("recognise")
        page = self._page(image, pixels, quarter_turns, found, best)
        clock.lap("compose")
        return Timed(page=page, seconds=clock.seconds)

    def _read_regions(self, pixels: Pixels, regions: Sequence[Region]) -> list[_Candidate]:
        """The best plain reading of every region, tall ones read in each way that could be
        meant.
        """
        candidates = [self._candidates(pixels, region.quad) for region in regions]
        self._recognise([c for group in candidates for c in group])
        return [max(group, key=lambda c: c.score) for group in candidates]

    def _candidates(self, pixels: Pixels, quad: Quad) -> list[_Candidate]:
        grown = self._grown(quad)
        plain = _Candidate(grown, cut(pixels, grown))
        if not is_column(quad):
            return [plain]
        upwards = turn(grown, 2)
        upright = turn(grown, 3)
        crop = cut(pixels, upright)
        ways = [plain, _Candidate(upwards, cut(pixels, upwards)), _Candidate(upright, crop)]
        stacked = restack(crop)
        if stacked is not None:
            ways.append(_Candidate(grown, stacked.row, stacked=stacked))
        return ways

    def _grown(self, quad: Quad) -> Quad:
        height = quad_size(quad)[1]
        return grow(quad, self.options.margin_along * height, self.options.margin_across)

    def _recognise(self, candidates: Sequence[_Candidate]) -> None:
        read_crops = self._through[1] if self._through else self.recogniser.read
        readings = read_crops([c.crop for c in candidates])
        for candidate, reading in zip(candidates, readings, strict=True):
            if candidate.stacked is not None:
                reading = unstack(reading, candidate.stacked)
            candidate.reading = reading

    def _vote(self, pixels: Pixels, regions: Sequence[Region]) -> int:
        ballots: list[dict[int, _Candidate]] = []
        for i in sample(regions):
            quad = self._grown(regions[i].quad)
            if is_column(
                quad
            ):  # reads down: the page was turned clockwise, so turn it back by three
                ballot = {3: _plain(pixels, quad), 1: _plain(pixels, turn(quad, 2))}
                stacked = restack(cut(pixels, turn(quad, 3)))
                if stacked is not None:
                    ballot[0] = _Candidate(quad, stacked.row, stacked=stacked)
            else:
                ballot = {0: _plain(pixels, quad), 2: _plain(pixels, turn(quad, 2))}
            ballots.append(ballot)
        self._recognise([c for ballot in ballots for c in ballot.values()])
        return elect([Vote(scores={t: c.score for t, c in b.items()}) for b in ballots])

    def _second_look(
        self, pixels: Pixels, regions: Sequence[Region], best: list[_Candidate]
    ) -> None:
        """Read weak lines again, tighter and upside down, and keep what is clearly better."""
        weak = [i for i, c in enumerate(best) if c.score < self.options.doubt_below]
        tight = {i: _Candidate(regions[i].quad, cut(pixels, regions[i].quad)) for i in weak}
        flipped = {
            i: _Candidate(turn(best[i].quad, 2), half_turn(best[i].crop))
            for i in weak
            if best[i].score < 0.7 and best[i].stacked is None
        }
        self._recognise([*tight.values(), *flipped.values()])
        for i, again in tight.items():
            same_way = not is_column(regions[i].quad) or best[i].quad == self._grown(
                regions[i].quad
            )
            if same_way and best[i].stacked is None and again.score > best[i].score:
                best[i] = again
        for i, again in flipped.items():
            if again.score > max(best[i].score + 0.15, 0.7):
                best[i] = again

    def _page(
        self,
        image: PageImage,
        pixels: Pixels,
        quarter_turns: int,
        found: Found,
        best: Sequence[_Candidate],
    ) -> Page:
        lines = [
            line
            for region, candidate in zip(found.regions, best, strict=True)
            if (line := self._line(region, candidate)) is not None
        ]
        lines = _with_text_layer(lines, image, quarter_turns)
        order = reading_order([line.region.quad for line in lines])
        stored = compose(image.transform, turned_page(image.width, image.height, quarter_turns))
        return Page(
            index=image.index,
            width=int(pixels.shape[1]),
            height=int(pixels.shape[0]),
            dpi=image.dpi,
            orientation=(image.orientation + 90 * quarter_turns) % 360,
            transform=stored,
            scale=round(found.scale, 4),
            warnings=(*image.warnings, *found.warnings),
            lines=tuple(lines[i] for i in order),
        )

    def _line(self, region: Region, candidate: _Candidate) -> Line | None:
        if candidate.reading is None or candidate.score < self.options.least_mean:
            return None
        cut_from = Region(quad=candidate.quad, score=region.score)
        height = quad_size(candidate.quad)[1]
        return build_line(candidate.reading, cut_from, crop_height=height, source=self.source)


class _Clock:
    """Seconds per stage; a stage may come more than once."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def _with_text_layer(lines: list[Line], image: PageImage, quarter_turns: int) -> list[Line]:
    """The file's own text where it has some, what was read from pixels elsewhere."""
    if quarter_turns or not image.text_layer:
        return lines
    own = [
        Line(
            region=Region(quad=run.quad, score=1.0),
            text=run.text,
            score_raw=1.0,
            confidence=1.0,
            source=TEXT_LAYER,
        )
        for run in image.text_layer
    ]
    read = [n for n in lines if all(box_overlap(n.region.quad, o.region.quad) < 0.5 for o in own)]
    return own + read


def _read_badly(best: Sequence[_Candidate]) -> bool:
    """Whether a page that has text was read so badly as a whole that its lines should vote."""
    glyphs = [g.probability for c in best if c.reading for g in c.reading.glyphs]
    return bool(best) and (not glyphs or float(np.mean(glyphs)) < SURE)


def _plain(pixels: Pixels, quad: Quad) -> _Candidate:
    return _Candidate(quad, cut(pixels, quad))
