"""The loop of `tierocr read`: inputs in, documents out in the same order, several in flight.

One input's failure is named and never stops the others.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace

from tierocr.edge.inputs import Input
from tierocr.edge.tiering import TieredDocument, TieredReader
from tierocr.shared.document import Document, Failure, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.text.rules import apply_to_lines

IN_FLIGHT = 4
"""Inputs begun but not finished: two being read, one being decoded, one waiting for the cloud."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one input: a document, or the failure that kept it from being opened."""

    source: Input
    result: TieredDocument | None
    failure: Failure | None = None

    @property
    def failed(self) -> bool:
        """Whether the input, or a page of it, could not be read."""
        if self.result is None:
            return True
        document = self.result.document
        return document.status == "failed" or any(p.error for p in document.pages)


async def read_inputs(
    reader: TieredReader, inputs: Sequence[Input], limits: Limits
) -> AsyncIterator[Outcome]:
    """Outcomes in the order of the inputs. Raises TierocrError when the edge's engine fails."""
    waiting: list[asyncio.Task[Outcome]] = []
    remaining = iter(inputs)
    try:
        while True:
            while len(waiting) < IN_FLIGHT and (source := next(remaining, None)) is not None:
                waiting.append(asyncio.create_task(_read_one(reader, source, limits)))
            if not waiting:
                return
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def with_rules(document: Document, rules: Sequence[str]) -> Document:
    """Apply text rules to every line; what the recogniser said stays in `text_raw`."""
    if not rules:
        return document
    pages = []
    for page in document.pages:
        texts = apply_to_lines([line.text for line in page.lines], rules)
        lines = (
            replace(line, text=text, text_raw=line.text) if text != line.text else line
            for line, text in zip(page.lines, texts, strict=True)
        )
        pages.append(replace(page, lines=tuple(lines)))
    return replace(document, pages=tuple(pages))


async def _read_one(reader: TieredReader, source: Input, limits: Limits) -> Outcome:
    try:
        data = await asyncio.to_thread(load, source, limits)
    except TierocrError as error:
        failure = Failure(code=error.code, message=error.message)
        return Outcome(source=source, result=None, failure=failure)
    return Outcome(source=source, result=await reader.read(data, source.name))


def load(source: Input, limits: Limits) -> bytes:
    """The input's bytes, never more than the limit. Raises TierocrError `not_found` or
    `too_large`.
    """
    try:
        if source.path is None:
            data = sys.stdin.buffer.read(limits.max_bytes + 1)
        else:
            with source.path.open("rb") as file:
                data = file.read(limits.max_bytes + 1)
    except OSError as error:
        raise TierocrError("not_found", f"cannot open {source.name}: {error.strerror}") from error
    limits.check_bytes(len(data))
    return data


def page_images(data: bytes, limits: Limits) -> Iterator[PageImage]:
    """The pages of a file that can be decoded, one at a time."""
    try:
        for item in decode_pages(data, limits=limits):
            if not isinstance(item, PageFailure):
                yield item
    except TierocrError as error:
        if error.code == "internal":
            raise
