"""Writes generated lines and pages as a labelled folder: `images/` and `labels.jsonl`.

One row of JSON for each image: `image, lang, kind, lines[{text, box}], text`; a box is four points
in pixels of the image, clockwise from the top left, or null for an image of a single line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import cv2

from tierocr.cloud.forge.lines.generator import GeneratedLine
from tierocr.cloud.forge.sample_pages.canvas import Sheet, is_wide
from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError

LABELS = "labels.jsonl"
LINE = "line"
"""The kind of an image that is a single line."""


def write_lines(folder: Path, lines: Iterable[GeneratedLine]) -> int:
    """Write them; returns how many. Raises TierocrError `output_failed`."""
    return _write(
        folder,
        ((line.image, LINE, [{"text": line.text, "box": None}]) for line in lines),
    )


def write_pages(folder: Path, sheets: Iterable[Sheet]) -> int:
    """Write them; returns how many. Raises TierocrError `output_failed`."""
    return _write(folder, ((sheet.pixels, "page", _boxed(sheet)) for sheet in sheets))


def _boxed(sheet: Sheet) -> list[dict[str, Any]]:
    return [
        {"text": line.text, "box": [[round(x, 1), round(y, 1)] for x, y in line.quad]}
        for line in sheet.lines
    ]


def _write(folder: Path, images: Iterable[tuple[Pixels, str, Sequence[dict[str, Any]]]]) -> int:
    count = 0
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        with (folder / LABELS).open("w", encoding="utf-8") as labels:
            for count, (pixels, kind, lines) in enumerate(images, start=1):
                name = f"images/{count - 1:06d}.png"
                (folder / name).write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
                text = "\n".join(line["text"] for line in lines)
                lang = "zh" if is_wide(text) else "en"
                row = {"image": name, "lang": lang, "kind": kind, "lines": lines, "text": text}
                labels.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {folder}: {error}") from error
    return count
