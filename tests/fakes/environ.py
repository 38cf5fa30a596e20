"""The environment of a process that a test starts: nothing in it that a user has set or kept."""

from __future__ import annotations

import os


def plain_environ(**more: str) -> dict[str, str]:
    """That of this process without TierOCR's variables, with these."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TIEROCR_")}
    return {**plain, "TIEROCR_CACHE": "", **more}
