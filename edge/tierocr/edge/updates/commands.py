"""The commands `tierocr models install|rollback|sign`: none of them uses the network."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from tierocr.edge.updates import installing
from tierocr.edge.updates.archive import private_key, public_keys, write_update
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import INSTALLED, find_pack

TRUST = "TIEROCR_TRUST"
Packs = Annotated[
    Path | None, typer.Option(envvar=INSTALLED, help="Folder of the packs that are installed.")
]


def install(
    file: Annotated[Path, typer.Argument(help="File made by `tierocr models sign`.")],
    packs: Packs = None,
    trust: Annotated[
        list[Path] | None,
        typer.Option(help=f"PEM file with a public Ed25519 key; or {TRUST}, a list like PATH."),
    ] = None,
    runtime: Annotated[str, typer.Option(help="What the self-test runs on.")] = "openvino",
) -> None:
    """Check a signed model pack, test it, and put it into use; the version before is kept."""
    named = [Path(p) for p in os.environ.get(TRUST, "").split(os.pathsep) if p]
    keys = public_keys(trust or named)
    test = installing.reads_its_canary(runtime)
    done = installing.install(file, _folder(packs), keys, self_test=test)
    typer.echo(f"{done.name} {done.version} is installed; restart what is running to use it")


def rollback(
    name: Annotated[str, typer.Argument(help="Name of the pack.")], packs: Packs = None
) -> None:
    """Put the version of a pack that was installed before into use again."""
    pack = installing.rollback(name, _folder(packs))
    typer.echo(f"{name} is version {pack.manifest.version} again; restart what is running")


def sign(
    pack: Annotated[str, typer.Argument(help="Name or folder of a pack.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    key: Annotated[Path, typer.Option(help="PEM file with the private Ed25519 key.")],
    needs: Annotated[
        str | None, typer.Option(help="Oldest version of tierocr that can use it; or this one.")
    ] = None,
) -> None:
    """Make the signed file that `tierocr models install` takes."""
    secret = private_key(key)
    folder = Path(pack) if Path(pack).is_dir() else find_pack(pack).folder
    done = write_update(folder, output, secret, needs=needs or metadata.version("tierocr"))
    typer.echo(f"{output}: {done.name} {done.version}, {len(done.files)} files")


def _folder(packs: Path | None) -> Path:
    if packs is None:
        raise TierocrError(
            "config_invalid", f"say where packs are installed: --packs or {INSTALLED}"
        )
    return packs
