"""Writing a result file so that it is either whole or not there: temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from tierocr.shared.errors import TierocrError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, creating its folders. Raises TierocrError `output_failed`; leaves no debris."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tierocr-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):  # some shares know no modes
            Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, path)  # noqa: PTH105 - atomic, over an existing file too
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise TierocrError("output_failed", f"cannot write {path}: {error}") from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
