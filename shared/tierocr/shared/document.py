"""The values that everything passes around: pages, regions, lines, documents.

Frozen, numpy only, no behaviour beyond small derived properties. Coordinates are pixels of the
upright page at full resolution (after EXIF and page rotation), origin top left, x to the right, y
down. Confidences lie in 0..1. This module must not know about files, networks, clocks or runtimes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]
"""Four corners TL, TR, BR, BL in reading direction; in a vertical column TL->TR runs down."""

Matrix3 = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
"""A row-major 3x3 homogeneous transform of (x, y, 1)."""

Pixels = NDArray[np.uint8]
"""(H, W, 3) uint8, blue-green-red, C-contiguous."""

Floats = NDArray[np.float32]

Classes = NDArray[np.int32]

IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

EDGE, CLOUD, TEXT_LAYER, CACHE = "edge", "cloud", "text_layer", "cache"
FINAL, PROVISIONAL, FAILED = "final", "provisional", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong with an input, a page or a line. `code` stands in `errors.ERROR_CODES`."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """A line of a file's own text layer, in upright page pixels."""

    text: str
    quad: Quad


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageImage:
    """One decoded page.

    `pixels`: (H, W, 3) uint8 BGR, upright after EXIF or the PDF's /Rotate. `index` counts from 0 in
    its file. `dpi`: dots per inch of these pixels, None where the file does not say anything
    believable. `orientation`: clockwise degrees (0, 90, 180, 270) that were applied to the stored
    pixels (mirroring is in `transform` only). `transform`: upright pixels -> stored pixels (PDF:
    points of 1/72 inch, origin at the top left of the unrotated crop box).
    """

    pixels: Pixels
    index: int = 0
    dpi: float | None = None
    orientation: int = 0
    transform: Matrix3 = IDENTITY
    warnings: tuple[str, ...] = ()
    text_layer: tuple[TextRun, ...] = ()

    @property
    def width(self) -> int:
        """Width of the upright page in pixels."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Height of the upright page in pixels."""
        return int(self.pixels.shape[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A place where text was detected. `score`: mean text probability inside the region, 0..1."""

    quad: Quad
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """One character. `quad` lies in the same frame as its line's; `score_raw` is the network's
    probability.
    """

    text: str
    quad: Quad
    score_raw: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A run of characters without white space; a run of ideographs counts as one word."""

    text: str
    quad: Quad
    score_raw: float
    confidence: float
    characters: tuple[Character, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What the recogniser knows about its own reading of one line, for routing and calibration.

    Probabilities are the CTC softmax values of the emitted characters, each at its best column.
    `margin`: smallest difference between best and second class over those columns. `entropy`:
    largest entropy over them, in nats, with all classes but the two best taken as one. `weak`: how
    many characters are under 0.5. `crop_height`: pixels of the crop before scaling.
    `detector_score`: the region's score.
    """

    min_probability: float
    mean_probability: float
    margin: float
    entropy: float
    weak: int
    length: int
    crop_height: float
    detector_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Why a line was sent, or kept. `bytes` is what its crop weighed on the wire, 0 if it was
    kept.
    """

    reason: str
    p_error: float
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another reading of a line that did not win."""

    text: str
    source: str
    score_raw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of text with its words and characters.

    `text_raw` is what the recogniser said where a text rule changed it, else None. `score_raw` is
    the smallest character probability of the line: one weak character makes a weak line.
    `confidence` is the calibrated probability that the whole line is right, equal to `score_raw`
    while there is no calibration. `angle`: degrees by which the reading direction is turned
    clockwise from the page's x axis.
    """

    region: Region
    text: str
    score_raw: float
    confidence: float
    words: tuple[Word, ...] = ()
    signals: Signals | None = None
    angle: float = 0.0
    truncated: bool = False
    source: str = EDGE
    status: str = FINAL
    text_raw: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    route: Route | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page as read; its lines stand in reading order.

    `scale`: detector pixels per page pixel, as used for the finest pass. `error` is set when the
    page could not be decoded or read; its size is then 0 x 0.
    """

    index: int
    width: int
    height: int
    dpi: float | None = None
    orientation: int = 0
    transform: Matrix3 = IDENTITY
    scale: float = 1.0
    warnings: tuple[str, ...] = ()
    error: Failure | None = None
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What really ran: the pack's name, its precision and the runtime with its device."""

    pack: str
    precision: str
    runtime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Where a pack's confidences come from: data-set id, sample count, expected calibration
    error.
    """

    id: str
    n: int
    ece: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A read input. `id` is derived from the content, so the same bytes give the same id."""

    id: str
    name: str
    sha256: str
    status: str
    engine: EngineInfo
    version: int = 1
    calibration: Calibration | None = None
    pages: tuple[Page, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    errors: tuple[Failure, ...] = ()
