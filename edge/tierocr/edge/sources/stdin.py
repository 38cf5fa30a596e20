"""Standard input as a source: one document, all its bytes."""

from __future__ import annotations

from typing import BinaryIO

from tierocr.edge.outbox.values import Arrival
from tierocr.shared.images import Limits

STDIN = Arrival(source="stdin", name="stdin")


def read_all(file: BinaryIO, limits: Limits) -> bytes:
    """What comes until the end. Raises TierocrError `too_large`."""
    data = file.read(limits.max_bytes + 1)
    limits.check_bytes(len(data))
    return data
