"""What a document is called in the sinks. Pure.

The name that it came with, relative to its source, as long as that is a name that any file system
takes and nobody else has; else one with a number.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import PurePosixPath

LONGEST = 180
"""Bytes of one part of a name: file systems take 255, and endings are added."""


def output_name(name: str, taken: Callable[[str], bool]) -> str:
    """A relative path that is not taken: "scan.jpg", then "scan.2.jpg", "scan.3.jpg", …"""
    parts = [_short(p) for p in PurePosixPath(name).parts if p not in ("/", ".", "..")]
    path = PurePosixPath(*parts) if parts else PurePosixPath("document")
    found, number = path, 1
    while taken(str(found)):
        number += 1
        found = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return str(found)


def plain_name(name: str) -> str:
    """The name for a file system that does not take it as it is: what is no plain text is
    escaped.
    """
    text = os.fsencode(name).decode("utf-8", "replace").replace("\ufffd", "_")
    kept = "".join(c if c.isprintable() and c not in '<>:"\\|?*' else "_" for c in text)
    if kept == name:
        return name
    path = PurePosixPath(kept)
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]
    return str(path.with_name(f"{path.stem}.{digest}{path.suffix}"))


def _short(part: str) -> str:
    raw = os.fsencode(part)
    if len(raw) <= LONGEST:
        return part
    digest = hashlib.sha256(raw).hexdigest()[:8]
    suffix = PurePosixPath(part).suffix
    suffix = suffix if len(os.fsencode(suffix)) <= 10 else ""
    kept = raw[: LONGEST - 20].decode("utf-8", "ignore")
    return f"{kept}.{digest}{suffix}"
