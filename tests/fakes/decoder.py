"""A decoder process that decodes well, but for pages of certain widths.

Run as `python decoder.py LOG …`: the index of each page is written to LOG before it is decoded.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tierocr.cloud.decoding import worker
from tierocr.shared.document import PageImage
from tierocr.shared.images import Limits, PageFailure, decode_pages

HANGS, IS_KILLED, CRASHES, HOARDS, LIES, FAILS = 31, 32, 33, 34, 35, 36
"""Widths in pixels of the pages that do so."""


def command(log: Path) -> tuple[str, ...]:
    """What starts it."""
    return (sys.executable, __file__, str(log))


def _decode(data: bytes, limits: Limits, first: int) -> Iterator[PageImage | PageFailure]:
    for page in decode_pages(data, limits=limits, first=first):
        with LOG.open("a") as log:
            log.write(f"{page.index}\n")
        yield page if isinstance(page, PageFailure) else _act(page)


def _act(page: PageImage) -> PageImage:
    if page.width == HANGS:
        time.sleep(3600)
    if page.width == IS_KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if page.width == CRASHES:
        os.abort()
    if page.width == HOARDS:
        hoard = []
        while True:
            hoard.append(np.ones(1 << 22, dtype=np.uint8))
    if page.width == LIES:
        os.write(int(sys.argv[1]), b"\x00\x00\x00\x0dgive me a job")
    if page.width == FAILS:
        raise RuntimeError("a mistake of the decoder")
    return page


if __name__ == "__main__":
    LOG = Path(sys.argv.pop(1))
    worker.main(_decode)
