"""Where the fonts are. Decides file and face for a named typeface; knows nothing about pages."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Literal

from PIL import ImageFont

from tierocr.shared.errors import TierocrError

Typeface = Literal["sans", "sans-bold", "serif", "serif-bold", "mono", "mono-bold", "mono-cjk"]
Font = ImageFont.FreeTypeFont

_NOTO, _DEJAVU = "fonts-noto-cjk", "fonts-dejavu-core"
_FACES: dict[Typeface, tuple[str, str, str]] = {
    "sans": ("NotoSansCJK-Regular.ttc", "Noto Sans CJK SC", _NOTO),
    "sans-bold": ("NotoSansCJK-Bold.ttc", "Noto Sans CJK SC", _NOTO),
    "serif": ("NotoSerifCJK-Regular.ttc", "Noto Serif CJK SC", _NOTO),
    "serif-bold": ("NotoSerifCJK-Bold.ttc", "Noto Serif CJK SC", _NOTO),
    "mono": ("DejaVuSansMono.ttf", "DejaVu Sans Mono", _DEJAVU),
    "mono-bold": ("DejaVuSansMono-Bold.ttf", "DejaVu Sans Mono", _DEJAVU),
    "mono-cjk": ("NotoSansCJK-Regular.ttc", "Noto Sans Mono CJK SC", _NOTO),
}
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_MOST_FACES = 16


@lru_cache(maxsize=1)
def _installed() -> dict[str, Path]:
    """Font files by file name: what fontconfig lists, else what lies in the usual folders."""
    files: list[Path] = []
    if tool := shutil.which("fc-list"):
        listed = subprocess.run(
            [tool, ":", "file"], capture_output=True, text=True, check=False, timeout=30
        )
        files = [Path(row.rstrip().rstrip(":")) for row in listed.stdout.splitlines()]
    for folder in _FOLDERS:
        files.extend(Path(folder).expanduser().rglob("*.tt[cf]"))
    return {file.name: file for file in sorted(set(files), reverse=True)}


@lru_cache(maxsize=64)
def load(face: Typeface, size: int) -> Font:
    """The typeface at `size` pixels per em; TierocrError `not_found` names what to install."""
    name, family, package = _FACES[face]
    path = _installed().get(name)
    if path is None:
        raise TierocrError(
            "not_found", f"the font {name} is not installed: install the Debian package {package}"
        )
    for index in range(_MOST_FACES):
        try:
            # Basic layout: the same glyph places whether or not Pillow was built with Raqm.
            font = ImageFont.truetype(
                str(path), size, index=index, layout_engine=ImageFont.Layout.BASIC
            )
        except OSError:
            break
        if font.getname()[0] == family:
            return font
    raise TierocrError("not_found", f"{path} has no face {family}: install {package}")
