"""What the command line names -> the inputs to read and where each result goes.

Pure but for looking at the file system; nothing is opened. Every problem is found before
anything is read.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tierocr.shared.errors import TierocrError

STDIN = "-"

ENDINGS = frozenset(
    (
        *(".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".jp2", ".j2k"),
        *(".pdf", ".heic", ".heif", ".pbm", ".pgm", ".ppm"),
    )
)
"""Which files of a folder are read. A file that is named itself is read whatever it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input. `path` is None for standard input; `name` is its path relative to what was
    named.
    """

    path: Path | None
    name: str


def expand(arguments: Sequence[str]) -> list[Input]:
    """Files, folders (recursive), glob patterns and `-` -> inputs, in order, each file once.

    Raises TierocrError `not_found` for a name without a file, `config_invalid` for a folder
    without any.
    """
    found: dict[str, Input] = {}
    for argument in arguments:
        for item in _expand_one(argument):
            key = STDIN if item.path is None else str(item.path.resolve())
            found.setdefault(key, item)
    return list(found.values())


def output_paths(inputs: Iterable[Input], folder: Path, ending: str) -> dict[str, Path]:
    """Input name -> output file: the same relative path with the ending added.

    Raises TierocrError `config_invalid` when two inputs would write the same file.
    """
    targets: dict[str, Path] = {}
    taken: dict[str, str] = {}
    for item in inputs:
        target = folder / (item.name + ending)
        key = str(target).casefold()  # some file systems do not tell a.jpg from A.JPG
        if key in taken:
            raise TierocrError(
                "config_invalid", f"{taken[key]} and {item.name} would both be written to {target}"
            )
        taken[key] = item.name
        targets[item.name] = target
    return targets


def _expand_one(argument: str) -> list[Input]:
    if argument == STDIN:
        return [Input(path=None, name="stdin")]
    if not argument:  # an unset variable of a shell, never the whole working directory
        raise TierocrError("not_found", "an empty name was given")
    path = Path(argument)
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.exists():
            return [Input(path=path, name=path.name)]
    except OSError as error:  # too long a name, a folder that may not be entered
        message = f"cannot look at {argument[:200]}: {error.strerror}"
        raise TierocrError("not_found", message) from error
    matches = [Path(m) for m in sorted(glob.glob(argument, recursive=True))]  # noqa: PTH207 - absolute patterns too
    files = [m for m in matches if m.is_file()]
    if not files:
        raise TierocrError("not_found", f"no such file, folder or pattern match: {argument}")
    root = _fixed_part(argument)
    return [Input(path=f, name=f.relative_to(root).as_posix()) for f in files]


def _in_folder(folder: Path) -> list[Input]:
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix.lower() in ENDINGS]
    if not files:
        raise TierocrError("config_invalid", f"no readable kind of file in {folder}")
    return [Input(path=p, name=p.relative_to(folder).as_posix()) for p in files]


def _fixed_part(pattern: str) -> Path:
    """The folder before the first part of a pattern that has a wildcard."""
    parts = Path(pattern).parts
    fixed = []
    for part in parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed) if fixed else Path()
