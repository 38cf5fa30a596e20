"""Where packs are found by name.

In this order: folders given by the caller, `TIEROCR_MODELS` (folders separated like PATH),
`TIEROCR_PACKS` (the folder of `tierocr models install`), and what the installed parts bring with
them (entry points of group `tierocr.packs`, each naming a package whose subfolders are packs). The
first match wins; no network is used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path

from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack

GROUP = "tierocr.packs"
VARIABLE = "TIEROCR_MODELS"
INSTALLED = "TIEROCR_PACKS"


def find_pack(name: str, folders: Sequence[Path] = ()) -> Pack:
    """The pack of that name. Raises TierocrError `model_invalid` when there is none, naming those
    found.
    """
    found = list_packs(folders)
    if name not in found:
        have = ", ".join(sorted(found)) or "none"
        raise TierocrError("model_invalid", f"there is no pack {name!r}; found: {have}")
    return load_pack(found[name])


def list_packs(folders: Sequence[Path] = ()) -> dict[str, Path]:
    """Every pack's name and folder; an earlier place hides a later one of the same name."""
    found: dict[str, Path] = {}
    for place in (*folders, *_from_environment(), *_from_parts()):
        for manifest in sorted(place.glob("*/pack.yaml")):
            found.setdefault(manifest.parent.name, manifest.parent)
    return found


def _from_environment() -> list[Path]:
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    return [Path(p) for p in (*named, os.environ.get(INSTALLED, "")) if p]


def _from_parts() -> list[Path]:
    places = []
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda e: e.name):
        folder = resources.files(entry.value)
        if isinstance(folder, Path):
            places.append(folder)
    return places
