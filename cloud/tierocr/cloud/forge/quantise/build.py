"""From an FP32 pack to one with INT8 artefacts: calibrate, quantise, gate, write. The join.

Nothing is written to the target until every artefact has passed the gate; then the folder appears
as a whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from tierocr.cloud.forge.quantise import calibration
from tierocr.cloud.forge.quantise.artefacts import (
    Made,
    fp32_file,
    layers_for_tensorrt,
    make_for_openvino,
    make_for_tensorrt,
)
from tierocr.cloud.forge.quantise.calibration import Source
from tierocr.cloud.forge.quantise.checking import Checked, check
from tierocr.cloud.forge.quantise.material import Material, Wanted
from tierocr.cloud.forge.quantise.openvino_int8 import quantised_layers, to_openvino
from tierocr.cloud.forge.quantise.qdq import TARGETS
from tierocr.shared.document import Floats
from tierocr.shared.engines.processor import gated_kernels, processor
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Network, Pack, load_pack
from tierocr.shared.models.rewriting import (
    copy_files,
    dump,
    read_values,
    with_built,
    without_built,
)

NETWORKS: tuple[Network, ...] = ("recogniser", "detector")
RUNTIMES = ("openvino", "tensorrt")
TOOLS = ("nncf", "numpy", "onnx", "onnxruntime", "openvino", "tierocr")

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to build from what. `targets`: releases of TensorRT, keys of `qdq.TARGETS`. `keep`:
    layers that stay in floating point. `how`: the command, for the record.
    """

    networks: Sequence[Network] = NETWORKS
    runtimes: Sequence[str] = RUNTIMES
    targets: Sequence[str] = tuple(TARGETS)
    source: Source = field(default_factory=Source)
    keep: Sequence[str] = ()
    wanted: Wanted = field(default_factory=Wanted)
    how: str = "tierocr models build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What the gate says of each artefact; `folder` is None when one was refused."""

    folder: Path | None
    checked: tuple[Checked, ...]


def build(pack: Pack, target: Path, recipe: Recipe, note: Note = lambda _: None) -> Built:
    """Write the folder `target`: the pack with the INT8 artefacts that the recipe asks for, in
    place of those of the same kind that it has.

    Raises TierocrError: `output_failed` when `target` exists or cannot be written, `model_invalid`
    for a damaged pack, `bad_request` for a layer to keep that there is not, and what the
    calibration source raises.
    """
    if target.exists():
        raise TierocrError("output_failed", f"{target} exists already")
    _require_layers(pack, recipe)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
            folder, aside = Path(scratch) / "pack", Path(scratch) / "aside"
            folder.mkdir()
            aside.mkdir()
            values = without_built(read_values(pack.folder), recipe.networks, recipe.runtimes)
            copy_files(pack, values, folder)
            made = list(_artefacts(pack, recipe, folder, note))
            material = Material(recipe.wanted, aside, note)
            checked = tuple(check(pack, one, material, aside, note) for one in made)
            if not all(one.passed for one in checked):
                return Built(folder=None, checked=checked)
            _write_manifest(folder, values, checked, recipe)
            os.replace(folder, target)  # noqa: PTH105 - atomic, also where Path.rename is not
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {target}: {error}") from error
    return Built(folder=target, checked=checked)


def _require_layers(pack: Pack, recipe: Recipe) -> None:
    """That every layer to keep would be quantised otherwise."""
    if not recipe.keep:
        return
    known = {
        layer
        for network in recipe.networks
        for layer in quantised_layers(to_openvino(fp32_file(pack, network)))
    }
    unknown = [layer for layer in recipe.keep if layer not in known]
    if unknown:
        raise TierocrError(
            "bad_request",
            f"no layer {unknown[0]} would be quantised; those that would: "
            f"{', '.join(sorted(known))}",
        )


def _artefacts(pack: Pack, recipe: Recipe, folder: Path, note: Note) -> Iterator[Made]:
    for network in recipe.networks:
        note(f"calibrating the {network}")
        tensors = _tensors(pack, network, recipe.source)
        if "openvino" in recipe.runtimes:
            note(f"quantising the {network} for OpenVINO")
            yield make_for_openvino(pack, network, tensors, recipe.keep, folder, note)
        if "tensorrt" in recipe.runtimes and recipe.targets:
            note(f"quantising the {network} for TensorRT")
            layers = layers_for_tensorrt(pack, network, tensors, recipe.keep, note)
            for target in recipe.targets:
                yield make_for_tensorrt(pack, network, layers, target, folder)


def _tensors(pack: Pack, network: Network, source: Source) -> list[Floats]:
    if network == "recogniser":
        facts = pack.manifest.recogniser.facts(pack.charset())
        tensors = calibration.line_tensors(calibration.crops(source), facts)
    else:
        pages = calibration.pages(source)
        tensors = calibration.page_tensors(pages, pack.manifest.detector.facts())
    if not tensors:
        raise TierocrError("bad_request", f"nothing to calibrate the {network} on")
    return tensors


def _write_manifest(
    folder: Path, values: dict[str, Any], checked: Sequence[Checked], recipe: Recipe
) -> None:
    entries = [one.made.entry([way.measured() for way in one.ways]) for one in checked]
    digests = {name: sha256 for one in checked for name, sha256 in one.made.digests().items()}
    record = {
        "how": recipe.how,
        "seed": recipe.source.seed,
        "calibration": recipe.source.describe(),
        "tools": {tool: metadata.version(tool) for tool in TOOLS},
        "measured_on": processor().describe(),
        "not_measured": gated_kernels()[1],
    }
    manifest = with_built(values, entries, digests, record)
    (folder / "pack.yaml").write_text(dump(manifest), encoding="utf-8", newline="\n")
    load_pack(folder).verify()
