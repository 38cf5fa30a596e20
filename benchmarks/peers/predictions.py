"""Reading a labelled set and storing what was read, the same way for every reader.

Per set one folder: `NAME.json` for each image NAME, and `timings.json` with the seconds per image,
the reader's versions and parameters, and the names of the images that it could not open.
`timings.json` is written last: a folder without it is not complete. Standard library only: this
runs in the peers' environments.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar

TIMINGS = "timings.json"
REPLY = "seconds"

Polygon = list[list[float]]
Reading = TypeVar("Reading")


class Word(NamedTuple):
    """A part of a line with its own place."""

    text: str
    polygon: Polygon


class TextLine(NamedTuple):
    """A line as a peer read it; no words where it does not say where they are."""

    text: str
    polygon: Polygon
    words: Sequence[Word] = ()


def page_json(lines: Sequence[TextLine]) -> str:
    """A `tierocr.document/1` with one page, as far as the scorer reads it."""
    rows = [
        {
            "text": line.text,
            "polygon": line.polygon,
            "words": [word._asdict() for word in line.words],
        }
        for line in lines
    ]
    document = {"schema": "tierocr.document/1", "pages": [{"index": 0, "lines": rows}]}
    return json.dumps(document, ensure_ascii=False)


def image_paths(set_dir: Path) -> list[Path]:
    """The images of a labelled set, in the order of its labels."""
    with (set_dir / "labels.jsonl").open(encoding="utf-8") as rows:
        return [set_dir / json.loads(row)["image"] for row in rows]


def store_predictions(
    paths: Sequence[Path],
    out_dir: Path,
    *,
    read: Callable[[Path], Reading],
    to_json: Callable[[Reading], str],
    packages: Sequence[str],
    parameters: dict[str, Any],
) -> None:
    """Read each image and store the documents; only `read` is timed."""
    out_dir.mkdir(parents=True, exist_ok=True)
    for stale in out_dir.glob("*.json"):
        stale.unlink()
    seconds: dict[str, float] = {}
    absent: list[str] = []
    for path in [*paths[:1], *paths]:  # the first one twice: models load and warm up on it
        started = time.perf_counter()
        try:
            reading = read(path)
        # whatever a reader raises on a file, the others are still measured
        except Exception as error:
            print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr)
            absent = [*dict.fromkeys([*absent, path.name])]
            continue
        seconds[path.name] = time.perf_counter() - started
        (out_dir / f"{path.name}.json").write_text(to_json(reading), encoding="utf-8")
    timings = {
        "versions": {name: version(name) for name in packages},
        "parameters": parameters,
        "seconds": seconds,
        "absent": absent,
        "peak_rss_bytes": peak_rss_bytes(),
    }
    (out_dir / TIMINGS).write_text(json.dumps(timings, indent=1), encoding="utf-8")


def serve(read: Callable[[Path], object], requests: TextIO, replies: TextIO) -> None:
    """Answer each line, a path, with the seconds that reading it took: for interleaved timing."""
    for line in requests:
        started = time.perf_counter()
        read(Path(line.rstrip("\n")))
        print(REPLY, time.perf_counter() - started, file=replies, flush=True)


def peak_rss_bytes() -> int | None:
    """The most memory this process has held, None where the system does not tell."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
