"""The commands `tierocr models build` and `tierocr models gate`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tierocr.cloud.forge.gate import GENERATED_LINES
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.models.store import find_pack

if TYPE_CHECKING:
    from tierocr.cloud.forge.quantise.checking import Checked
    from tierocr.cloud.forge.quantise.material import Wanted

EXTRA = ("nncf", "onnx", "onnxruntime", "openvino")
"""What the extra `quantise` brings, by import name."""

SHOWN_LAYERS = 8

PackName = Annotated[str, typer.Argument(metavar="PACK", help="A pack's name or folder.")]
Lines = Annotated[int, typer.Option(help="Generated lines that the gate reads.")]
Pages = Annotated[int, typer.Option(help="Generated pages that a detector's gate reads.")]
Evaluate = Annotated[
    list[Path] | None,
    typer.Option(help="A labelled folder that the gate reads too; may be repeated."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of calibration; the gate takes this plus 10.")]
Partly = Annotated[
    bool,
    typer.Option(
        "--partly",
        help="Accept a gate that this processor can only run in part; the pack says which part.",
    ),
]


def build(
    pack: PackName,
    out: Annotated[Path, typer.Argument(help="The new pack's folder; must not exist.")],
    target: Annotated[Literal["openvino", "tensorrt", "all"], typer.Option()] = "all",
    network: Annotated[Literal["recogniser", "detector", "both"], typer.Option()] = "both",
    release: Annotated[Literal["trt8", "trt10", "all"], typer.Option(help="Of TensorRT.")] = "all",
    seed: Seed = 1,
    calibrate: Annotated[
        Path | None, typer.Option(help="A labelled folder to calibrate on, not the generator.")
    ] = None,
    lines: Lines = GENERATED_LINES,
    pages: Pages = 400,
    evaluate: Evaluate = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A layer that stays in floating point; may be repeated."),
    ] = None,
    partly: Partly = False,
) -> None:
    """Quantise a pack: INT8 artefacts that pass the accuracy gate. Works offline."""
    _require_extra()
    from tierocr.cloud.forge.quantise import build as building
    from tierocr.cloud.forge.quantise.calibration import Source
    from tierocr.cloud.forge.quantise.qdq import TARGETS

    _require_processor(partly)
    recipe = building.Recipe(
        networks=building.NETWORKS if network == "both" else (network,),
        runtimes=building.RUNTIMES if target == "all" else (target,),
        targets=tuple(TARGETS) if release == "all" else (release,),
        source=Source(seed=seed, folder=calibrate),
        keep=tuple(keep or ()),
        wanted=_wanted(seed, lines, pages, evaluate),
        how=f"tierocr models build {pack} OUT --target {target} --release {release} "
        f"--network {network} --seed {seed} --lines {lines}"
        + ("" if network == "recogniser" else f" --pages {pages}")
        + "".join(f" --keep {layer}" for layer in keep or ())
        + "".join(f" --evaluate {folder.name}" for folder in evaluate or ()),
    )
    with _progress() as note:
        built = building.build(_pack(pack), out, recipe, note)
    _show(built.checked)
    if built.folder is None:
        raise typer.Exit(1)
    print(f"wrote {built.folder}")


def gate(
    pack: PackName,
    network: Annotated[Literal["recogniser", "detector", "both"], typer.Option()] = "both",
    seed: Seed = 1,
    lines: Lines = GENERATED_LINES,
    pages: Pages = 400,
    evaluate: Evaluate = None,
    partly: Partly = False,
) -> None:
    """Put the INT8 artefacts that a pack has through the accuracy gate again, on this processor."""
    _require_extra()
    from tierocr.cloud.forge.quantise.artefacts import in_pack
    from tierocr.cloud.forge.quantise.checking import check
    from tierocr.cloud.forge.quantise.material import Material

    _require_processor(partly)
    found = _pack(pack)
    made = [in_pack(found, a) for a in found.manifest.artefacts if "int8" in a.precisions]
    made = [one for one in made if network in ("both", one.network)]
    if not made:
        raise TierocrError("not_found", f"pack {found.name} has no INT8 artefact to gate")
    with tempfile.TemporaryDirectory(prefix="tierocr-gate-") as scratch, _progress() as note:
        wanted = _wanted(seed, lines, pages, evaluate)
        material = Material(wanted, Path(scratch), note)
        checked = [check(found, one, material, Path(scratch), note) for one in made]
    _show(checked)
    if not all(one.passed for one in checked):
        raise typer.Exit(1)


def _require_extra() -> None:
    missing = [name for name in EXTRA if util.find_spec(name) is None]
    if missing:
        raise TierocrError(
            "config_invalid",
            f"this needs {', '.join(missing)}: pip install 'tierocr[quantise]'",
        )


def _require_processor(partly: bool) -> None:
    """Refuse a gate that would leave out kernels, unless that is asked for."""
    from tierocr.shared.engines.processor import gated_kernels

    have, lacking = gated_kernels()
    if not have or (lacking and not partly):
        raise TierocrError(
            "device_unavailable",
            f"this processor cannot run the gate's kernels for {', '.join(lacking)}"
            + ("; --partly leaves them out and says so in the pack" if have else ""),
        )


def _pack(name: str) -> Pack:
    folder = Path(name)
    return load_pack(folder) if (folder / "pack.yaml").is_file() else find_pack(name)


def _wanted(seed: int, lines: int, pages: int, folders: Sequence[Path] | None) -> Wanted:
    from tierocr.cloud.forge.quantise.material import SEED_STEP, Wanted

    return Wanted(seed=seed + SEED_STEP, lines=lines, pages=pages, folders=tuple(folders or ()))


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Says on a terminal what is being done; quiet in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        yield lambda text: status.update(escape(text))


def _show(checked: Sequence[Checked]) -> None:
    for one in checked:
        Console().print(_table(one))
    for one in checked:
        if not one.passed:
            _show_refused(one)


def _table(one: Checked) -> Table:
    """Exact match in points, by kernels and batch."""
    columns = ("kernels", "batch", "lines", "FP32", "INT8", "loss", "up to", "")
    table = Table(*columns, title=one.made.name)
    for way in one.ways:
        total = way.verdict.total
        figures = (total.reference, total.candidate, total.loss, total.bound)
        table.add_row(
            way.isa,
            str(way.batch),
            str(total.lines),
            *(f"{figure:.2f}" for figure in figures),
            "passed" if way.verdict.passed else "refused",
        )
    return table


def _show_refused(one: Checked) -> None:
    reasons = dict.fromkeys(reason for way in one.ways for reason in way.verdict.reasons)
    for reason in reasons:
        print(f"{one.made.name}: {reason}", file=sys.stderr)
    table = Table("layer", "share of the difference to FP32", title="layers that hurt most")
    for hurt in one.hurts[:SHOWN_LAYERS]:
        table.add_row(escape(hurt.layer), f"{100 * hurt.share:.0f} %")
    Console().print(table)
