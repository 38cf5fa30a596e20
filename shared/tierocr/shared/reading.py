"""From the bytes of a file to a `Document`: decode, read page by page, put together.

One bad page never costs another: it becomes a page with an error. One bad file becomes a
document with status "failed". Only engine failures are raised, since they concern every input.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tierocr.shared.document import (
    FAILED,
    FINAL,
    Document,
    EngineInfo,
    Failure,
    Page,
    PageImage,
)
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadPage:
    """One page as read, and its picture while somebody may still want to cut from it.

    `image` is None for a page that could not be decoded. `seconds`: time per stage.
    """

    page: Page
    image: PageImage | None
    seconds: Mapping[str, float]


def read_pages(
    data: bytes, reader: Reader, *, limits: Limits | None = None, text_layer: bool = False
) -> Iterator[ReadPage]:
    """Read a file page by page, lazily; at most one decoded page is held at a time.

    Raises TierocrError when the file as a whole cannot be decoded, or an engine fails.
    """
    pages = decode_pages(data, limits=limits or Limits(), text_layer=text_layer)
    started = time.perf_counter()
    for item in pages:
        decoded = time.perf_counter() - started
        if isinstance(item, PageFailure):
            yield failed_page(item)
        else:
            timed = reader.read(item)
            yield ReadPage(
                page=timed.page, image=item, seconds={"decode": decoded, **timed.seconds}
            )
        started = time.perf_counter()


def failed_page(item: PageFailure) -> ReadPage:
    """The page that stands for one that could not be decoded."""
    page = Page(index=item.index, width=0, height=0, error=item.failure)
    return ReadPage(page=page, image=None, seconds={})


def read_bytes(
    data: bytes,
    name: str,
    reader: Reader,
    *,
    limits: Limits | None = None,
    text_layer: bool = False,
) -> Document:
    """Read a whole file. A file that cannot be decoded gives a document with status "failed".

    Raises TierocrError only when an engine fails.
    """
    pages = read_pages(data, reader, limits=limits, text_layer=text_layer)
    return gathered(pages, data=data, name=name, engine=reader.info)


def gathered(pages: Iterable[ReadPage], *, data: bytes, name: str, engine: EngineInfo) -> Document:
    """The document of a file whose pages come one after the other; their pictures are let go.

    A TierocrError that comes instead of a page is what is wrong with the file as a whole, after
    the pages before it; only `internal`, the engine's failure, is raised.
    """
    read: list[ReadPage] = []
    failure = None
    try:
        for page in pages:
            read.append(replace(page, image=None))
    except TierocrError as error:
        if error.code == "internal":
            raise
        failure = Failure(code=error.code, message=error.message)
    return document_of(
        name=name,
        sha256=hashlib.sha256(data).hexdigest(),
        engine=engine,
        pages=[r.page for r in read],
        seconds=total_seconds(r.seconds for r in read),
        failure=failure,
    )


def read_file(path: Path, reader: Reader, *, limits: Limits | None = None) -> Document:
    """Read a file from disk; see `read_bytes`. Raises OSError when it cannot be opened."""
    return read_bytes(path.read_bytes(), path.name, reader, limits=limits)


def document_of(
    *,
    name: str,
    sha256: str,
    engine: EngineInfo,
    pages: Iterable[Page],
    seconds: Mapping[str, float],
    failure: Failure | None = None,
    errors: Iterable[Failure] = (),
) -> Document:
    """Put a document together. `failure` concerns the whole file; page errors are gathered here."""
    all_pages = tuple(pages)
    of_pages = [
        Failure(code=p.error.code, message=f"page {p.index + 1}: {p.error.message}")
        for p in all_pages
        if p.error is not None
    ]
    nothing = not any(p.error is None for p in all_pages)
    return Document(
        id=f"sha256-{sha256[:32]}",
        name=name,
        sha256=sha256,
        status=FAILED if failure is not None or nothing else FINAL,
        engine=engine,
        pages=all_pages,
        timings={stage: round(value, 4) for stage, value in seconds.items()},
        errors=(*((failure,) if failure else ()), *of_pages, *errors),
    )


def total_seconds(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Seconds per stage over all pages."""
    total: dict[str, float] = {}
    for part in parts:
        for stage, value in part.items():
            total[stage] = total.get(stage, 0.0) + value
    return total
