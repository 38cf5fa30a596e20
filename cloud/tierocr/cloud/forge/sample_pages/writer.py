"""Writes finished sheets: image or PDF, and the truth beside it. Decides formats, not content."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tierocr.cloud.forge.sample_pages.canvas import Sheet

PDF_DPI = 200
_PDF_DATE = time.gmtime(0)
"""A fixed date, so that the same pages give the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePage:
    """One sample file: its name says the format, `draw` makes its pages, `seed` sets it apart."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Sheet, ...]]
    seed: int
    quality: int = 80
    grey: bool = False


def write_sample(page: SamplePage, folder: Path, seed: int) -> Path:
    """Draw the page, write it and its truth into `folder`; returns the image's path."""
    sheets = page.draw(np.random.default_rng([seed, page.seed]))
    images = [_picture(sheet, page.grey) for sheet in sheets]
    path = folder / page.name
    _save(images, path, page.quality)
    truth = path.with_name(f"{path.name}.truth.json")
    truth.write_text(_truth(page.name, sheets), encoding="utf-8")
    return path


def _picture(sheet: Sheet, grey: bool) -> Image.Image:
    image = Image.fromarray(np.ascontiguousarray(sheet.pixels[:, :, ::-1]))
    return image.convert("L") if grey else image


def _save(images: list[Image.Image], path: Path, quality: int) -> None:
    first, *others = images
    options: dict[str, Any] = {}
    if path.suffix == ".pdf":
        options = {"save_all": True, "append_images": others, "resolution": float(PDF_DPI)}
        options |= {"quality": quality, "creationDate": _PDF_DATE, "modDate": _PDF_DATE}
    elif path.suffix == ".jpg":
        options = {"quality": quality, "optimize": True}
    else:
        options = {"optimize": True}
    first.save(path, **options)


def _truth(name: str, sheets: tuple[Sheet, ...]) -> str:
    """One row of JSON for each line, so that a change shows up as a readable difference."""
    pages = []
    for sheet in sheets:
        height, width = sheet.pixels.shape[:2]
        rows = (
            json.dumps(
                {
                    "text": line.text,
                    "polygon": [[round(x, 1), round(y, 1)] for x, y in line.quad],
                },
                ensure_ascii=False,
            )
            for line in sheet.lines
        )
        body = ",\n".join(rows)
        pages.append(f'{{"width": {width}, "height": {height}, "lines": [\n{body}\n]}}')
    return f'{{"image": {json.dumps(name)}, "pages": [\n' + ",\n".join(pages) + "\n]}\n"
