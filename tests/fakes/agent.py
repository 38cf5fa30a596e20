"""The agent as a process, with a reader of painted pages in place of a model: it starts at once.

python -m tests.fakes.agent edge.yaml
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.fakes.rows import rows_reader
from tierocr.edge.agent import run
from tierocr.edge.logs import configure_logging
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.settings import load_settings


def main() -> None:
    settings = load_settings(EdgeSettings, file=Path(sys.argv[1]), environ=os.environ, overrides={})
    configure_logging(settings.log.level)
    asyncio.run(run(settings, open_reader=rows_reader))


if __name__ == "__main__":
    main()
