"""Where this user's machine keeps what can be made again: compiled networks, tuning.

Nothing depends on it: without a folder that can be written, starting takes longer and nothing is
remembered.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

VARIABLE = "TIEROCR_CACHE"
"""Names another folder; empty: keep nothing."""


def cache_folder(part: str) -> Path | None:
    """The folder of one kind of thing, made if need be; None where nothing can be kept."""
    named = os.environ.get(VARIABLE)
    if named == "":
        return None
    folder = (Path(named) if named else user_cache_path("tierocr", appauthor=False)) / part
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def keep_newest(folder: Path, most_bytes: int) -> None:
    """Remove the files that were written or used longest ago until the rest takes no more."""
    try:
        files = [(entry, entry.stat()) for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        return  # another process may be removing them too
    total = 0
    for file, stat in sorted(files, key=lambda f: max(f[1].st_atime, f[1].st_mtime), reverse=True):
        total += stat.st_size
        if total > most_bytes:
            file.unlink(missing_ok=True)
