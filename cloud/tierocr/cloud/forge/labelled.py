"""Labelled folders: pages with boxes or pictures of single lines -> crops and what they say.

The folder has `images/` and `labels.jsonl`, one JSON object a row: `image` (a path in the folder),
`kind`, and `lines`, each with `text` and `box` (four points in pixels of the stored file, clockwise
from the top left, or null). A picture of kind "line" is taken whole; lines that say `ignore`,
`multiline` or `vertical` are left out, as are lines without a box.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tierocr.cloud.forge.lines.folder import LABELS, LINE
from tierocr.shared.cropping import cut
from tierocr.shared.document import PageImage, Pixels, Quad
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import as_matrix, as_quad, grow, quad_size, transform_quad
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.reader import ReaderOptions

_LEFT_OUT = ("ignore", "multiline", "vertical")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledLine:
    """A crop of one line, (h, w, 3) uint8 BGR reading left to right, and what it says."""

    image: Pixels
    text: str


def load_lines(folder: Path) -> Iterator[LabelledLine]:
    """The lines of a labelled folder, in the order of its labels; one image is held at a time.

    Raises TierocrError: `not_found` for a folder without labels or a missing image, `bad_request`
    for a row that cannot be understood or labels without a single line to cut, and what
    `decode_pages` raises.
    """
    count = 0
    for place, row in _rows(folder / LABELS):
        try:
            wanted = _wanted(row)
            name = str(row["image"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TierocrError("bad_request", f"{place}: not a row of labels: {error!r}") from error
        if not wanted:
            continue
        page = _picture(folder / name)
        for text, quad in wanted:
            count += 1
            yield LabelledLine(image=_crop(page, quad), text=text)
    if not count:
        raise TierocrError("bad_request", f"{folder / LABELS} labels no line that can be cut out")


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each row and its place, "labels.jsonl:3", for messages."""
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TierocrError("not_found", f"{path.parent} has no readable {path.name}") from error
    except UnicodeDecodeError as error:
        raise TierocrError("bad_request", f"{path} is not UTF-8: {error}") from error
    for number, row in enumerate(rows, start=1):
        if row.strip():
            place = f"{path}:{number}"
            try:
                yield place, json.loads(row)
            except ValueError as error:
                raise TierocrError("bad_request", f"{place}: not JSON: {error}") from error


def _wanted(row: Any) -> list[tuple[str, Quad | None]]:
    """Text and box of each line to take; None for the whole picture."""
    lines = [line for line in row["lines"] if not any(line.get(mark) for mark in _LEFT_OUT)]
    if row.get("kind") == LINE:
        return [(str(lines[0]["text"]), None)] if len(lines) == 1 else []
    boxed = ((str(line["text"]), line.get("box")) for line in lines)
    return [(text, as_quad(box)) for text, box in boxed if box and text.strip()]


def _picture(path: Path) -> PageImage:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TierocrError("not_found", f"cannot read the labelled image {path}") from error
    try:
        page = next(iter(decode_pages(data, limits=Limits())))
    except TierocrError as error:
        raise TierocrError(error.code, f"{path}: {error.message}") from error
    if isinstance(page, PageFailure):
        raise TierocrError(page.failure.code, f"{path}: {page.failure.message}")
    return page


def _crop(page: PageImage, quad: Quad | None) -> Pixels:
    """The line with the margin that a reader gives it."""
    if quad is None:
        return page.pixels
    upright = transform_quad(as_matrix(np.linalg.inv(np.asarray(page.transform))), quad)
    margins = ReaderOptions()
    along = margins.margin_along * quad_size(upright)[1]
    return np.ascontiguousarray(cut(page.pixels, grow(upright, along, margins.margin_across)))
