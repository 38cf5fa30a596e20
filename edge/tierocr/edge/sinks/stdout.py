"""Results on standard output, one JSON document a line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import BinaryIO

from tierocr.edge.outbox.values import Due
from tierocr.edge.reading import with_rules
from tierocr.edge.sinks import Undelivered
from tierocr.edge.sinks.contents import Original
from tierocr.shared.export.json import to_json


class Stdout:
    """One stream of lines. After a kill a line may come a second time, with the same id and
    version.
    """

    name = "stdout"

    def __init__(
        self, file: BinaryIO, *, provisional: bool = True, rules: Sequence[str] = ()
    ) -> None:
        """`provisional`: whether provisional results are written."""
        self._file, self._provisional, self._rules = file, provisional, tuple(rules)

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    def occupied(self, output: str) -> bool:
        """Names mean nothing here."""
        return False

    async def deliver(self, due: Due, original: Original) -> None:
        """Write a version as a line. Raises Undelivered."""
        if not due.delivery.final and not self._provisional:
            return
        document = with_rules(due.document, self._rules)
        line = to_json(document, indent=None).encode(errors="backslashreplace") + b"\n"
        try:
            await asyncio.to_thread(self._write, line)
        except (OSError, ValueError) as error:
            raise Undelivered(f"standard output: {error}") from error

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()
