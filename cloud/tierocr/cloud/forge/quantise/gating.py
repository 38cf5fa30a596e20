"""The gate, run: both artefacts read the same lines, with each kind of kernel and batch.

One quantised artefact is put beside the FP32 ones into a pack of its own and read by the product's
own recogniser, in processes of their own (see `evaluation`). A file for TensorRT is read by
OpenVINO, which computes the same rounding steps: TensorRT itself is not needed to build.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tierocr.cloud.forge.evaluation import read_lines, read_pages
from tierocr.cloud.forge.gate import SetOutcome, Verdict, exact_flags, judge
from tierocr.cloud.forge.lines_on_pages import page_flags
from tierocr.cloud.forge.quantise.artefacts import Made
from tierocr.cloud.forge.quantise.material import LineSet, Material, PageSet
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.rewriting import (
    copy_files,
    dump,
    read_values,
    with_built,
    without_built,
)

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of reading and what the gate says of it."""

    isa: str
    batch: int
    verdict: Verdict

    def measured(self) -> dict[str, Any]:
        """The figures over all labels, for `pack.yaml`."""
        total = self.verdict.total
        return {
            "isa": self.isa,
            "batch": self.batch,
            "lines": total.lines,
            "reference": round(total.reference, 2),
            "exact": round(total.candidate, 2),
            "loss": round(total.loss, 2),
            "bound": round(total.bound, 2),
        }


def beside_fp32(pack: Pack, made: Made, folder: Path) -> Path:
    """A pack in `folder` of the FP32 artefacts and one quantised one, for OpenVINO to read."""
    folder.mkdir(parents=True)
    values = without_built(read_values(pack.folder))
    copy_files(pack, values, folder)
    for file in made.files:
        shutil.copyfile(file, folder / file.name)
    entry = replace(made, runtime="openvino", target=None).entry()
    values = with_built(values, [entry], made.digests(), None)
    (folder / "pack.yaml").write_text(dump(values), encoding="utf-8")
    return folder


def gate_recogniser(pack: Path, material: Material, note: Note) -> list[Way]:
    """One verdict for each instruction set and batch. FP32 reads once for each instruction set, in
    the largest batch: its readings do not depend on their neighbours. What the material knows of
    them is not read again, what is read is added.
    """
    ways = []
    wanted, sets, known = material.wanted, material.lines(), material.read_exactly
    for isa in wanted.kernels:
        note(f"reading in FP32 with {isa}")
        for lines in sets:
            if (lines.file, isa) not in known:
                known[lines.file, isa] = _flags(pack, lines, "f32", max(wanted.batches), isa)
        reference = [known[lines.file, isa] for lines in sets]
        for batch in wanted.batches:
            note(f"reading in INT8 with {isa}, batch {batch}")
            candidate = [_flags(pack, s, "int8", batch, isa) for s in sets]
            outcomes = [
                SetOutcome(name=s.name, reference=r, candidate=c, generated=s.generated)
                for s, r, c in zip(sets, reference, candidate, strict=True)
            ]
            ways.append(Way(isa=isa, batch=batch, verdict=judge(outcomes, wanted.limits)))
    return ways


def gate_detector(pack: Path, material: Material, note: Note) -> list[Way]:
    """One verdict for each instruction set: whole pages, with the recogniser in FP32."""
    ways = []
    pages = material.pages()
    for isa in material.wanted.kernels:
        flags = []
        for precision in ("f32", "int8"):
            note(f"reading pages in {precision.upper()} with {isa}")
            flags.append(_page_flags(pack, pages, precision, isa))
        outcome = SetOutcome(
            name=pages.name, reference=flags[0], candidate=flags[1], generated=True
        )
        ways.append(Way(isa=isa, batch=1, verdict=judge([outcome], material.wanted.limits)))
    return ways


def _flags(pack: Path, lines: LineSet, precision: str, batch: int, isa: str) -> tuple[bool, ...]:
    texts = read_lines(pack, lines.file, precision=precision, max_batch=batch, isa=isa)
    return exact_flags(texts, lines.texts)


def _page_flags(pack: Path, pages: PageSet, precision: str, isa: str) -> list[bool]:
    found = read_pages(pack, pages.file, detector=precision, recogniser="f32", isa=isa)
    flags: list[bool] = []
    for printed, lines in zip(pages.printed, found, strict=True):
        flags += page_flags(printed, [(line.text, line.quad) for line in lines])
    return flags
