"""The agent as a process, with a reader of painted pages in place of a model: it starts at once.

python -m tests.fakes.agent edge.yaml

A page whose first pixel is `DEADLY` ends the process, as a fault in a library would.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.fakes.rows import rows_reader
from tierocr.edge.agent import run
from tierocr.edge.logs import configure_logging
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.document import PageImage
from tierocr.shared.ocr.reader import Reader, Timed
from tierocr.shared.settings import load_settings

DEADLY = (1, 2, 3)


class MortalReader(Reader):
    def read(self, image: PageImage) -> Timed:
        if tuple(image.pixels[0, 0]) == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(image)


def main() -> None:
    settings = load_settings(EdgeSettings, file=Path(sys.argv[1]), environ=os.environ, overrides={})
    configure_logging(settings.log.level)
    asyncio.run(run(settings, open_reader=lambda: rows_reader(kind=MortalReader)))


if __name__ == "__main__":
    main()
