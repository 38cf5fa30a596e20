"""Pictures and their texts as one file, to hand them from one process to another. No pickle.

A NumPy archive: `pixels`, all pictures' bytes behind one another (uint8); `shapes`, their heights
and widths in pixels (n, 2); `texts`, what they say (n strings, empty for whole pages).
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tierocr.shared.document import Pixels
from tierocr.shared.errors import TierocrError


def save_pictures(path: Path, pictures: Iterable[tuple[Pixels, str]]) -> int:
    """Write (h, w, 3) uint8 BGR pictures and their texts to a `.npz` file; returns how many.

    Raises TierocrError `output_failed`.
    """
    shapes: list[tuple[int, ...]] = []
    texts: list[str] = []
    try:
        with tempfile.TemporaryFile(dir=path.parent) as raw:  # so many do not fit into memory
            for pixels, text in pictures:
                raw.write(pixels.tobytes())
                shapes.append(pixels.shape[:2])
                texts.append(text)
            raw.flush()
            np.savez(
                path,
                pixels=np.memmap(raw, np.uint8, "r") if shapes else np.zeros(0, np.uint8),
                shapes=np.array(shapes, dtype=np.int64).reshape(-1, 2),
                texts=np.array(texts, dtype=np.str_),
            )
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {path}: {error}") from error
    return len(texts)


def iterate_pictures(path: Path) -> Iterator[tuple[Pixels, str]]:
    """What `save_pictures` wrote, one picture after another: a file may be larger than the memory.

    Raises TierocrError `not_found` or `bad_request`.
    """
    try:
        with path.open("rb") as file, _archive(np.load(file, allow_pickle=False)) as archive:
            shapes, texts = archive["shapes"].tolist(), archive["texts"].tolist()
            with archive.zip.open("pixels.npy") as stream:
                layout: Any = np.lib.format  # without types in older numpy
                layout.read_magic(stream)
                layout.read_array_header_1_0(stream)
                for (height, width), text in zip(shapes, texts, strict=True):
                    pixels = np.frombuffer(bytearray(stream.read(height * width * 3)), np.uint8)
                    yield pixels.reshape(height, width, 3), text
    except OSError as error:
        raise TierocrError("not_found", f"cannot read {path}: {error}") from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise TierocrError("bad_request", f"{path} is not a file of pictures: {error}") from error


def _archive(loaded: object) -> Any:
    """An archive, as `np.load` gives it; it gives a single array as well. Raises TypeError."""
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise TypeError("one array, not an archive")
    return loaded


def load_pictures(path: Path) -> list[tuple[Pixels, str]]:
    """All of `iterate_pictures` at once."""
    return list(iterate_pictures(path))
