"""The wheel that the edge pack was made from, made again from the pack itself."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from tierocr.shared.models.fetch import EDGE_TINY
from tierocr.shared.models.store import find_pack


def write_wheel(path: Path, changes: Mapping[str, bytes | None] | None = None) -> Path:
    """A wheel with the files that the recipe takes out; `changes`: path in it -> content or
    None to leave it out.
    """
    folder = find_pack("edge-tiny").folder
    files = {inside: (folder / name).read_bytes() for name, (inside, _) in EDGE_TINY.files.items()}
    charset = (folder / "charset.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    facts = {"PostProcess": {"name": "CTCLabelDecode", "character_dict": charset}}
    files[EDGE_TINY.charset_from] = yaml.safe_dump(facts, allow_unicode=True).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for inside, content in {**files, **(changes or {})}.items():
            if content is not None:
                archive.writestr(inside, content)
    return path
