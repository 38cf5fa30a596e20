"""One artefact before the gate and, where it is refused, the layers that it should look at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from tierocr.cloud.forge.quantise import calibration, openvino_int8, sensitivity
from tierocr.cloud.forge.quantise.artefacts import Made, fp32_file
from tierocr.cloud.forge.quantise.gating import Way, beside_fp32, gate_detector, gate_recogniser
from tierocr.cloud.forge.quantise.material import Material
from tierocr.cloud.forge.quantise.sensitivity import Hurt
from tierocr.shared.document import Floats
from tierocr.shared.models.manifest import Pack

LOOKED_AT = {"recogniser": 24, "detector": 3}
"""Lines or pages on which layers are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An artefact, what the gate says of it, and the layers that hurt most where it was refused."""

    made: Made
    ways: tuple[Way, ...]
    hurts: tuple[Hurt, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it passed in every way it could be read here, at least one."""
        return bool(self.ways) and all(way.verdict.passed for way in self.ways)


def check(
    pack: Pack, made: Made, material: Material, scratch: Path, note: Callable[[str], None]
) -> Checked:
    """Gate one artefact against the pack's FP32 network. Raises TierocrError."""
    note(f"gating the {made.name}")
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        beside = beside_fp32(pack, made, Path(place) / pack.name)
        gate = gate_recogniser if made.network == "recogniser" else gate_detector
        ways = gate(beside, material, note)
    checked = Checked(made=made, ways=tuple(ways))
    if checked.passed or not ways:
        return checked
    note(f"comparing the layers of the {made.name}")
    return Checked(made=made, ways=tuple(ways), hurts=tuple(_hurts(pack, made, material)))


def _hurts(pack: Pack, made: Made, material: Material) -> list[Hurt]:
    original = openvino_int8.to_openvino(fp32_file(pack, made.network))
    quantised = ov.Core().read_model(made.file)
    return sensitivity.rank(quantised, original, _tensors(pack, made, material))


def _tensors(pack: Pack, made: Made, material: Material) -> list[Floats]:
    count = LOOKED_AT[made.network]
    if made.network == "recogniser":
        facts = pack.manifest.recogniser.facts(pack.charset())
        return calibration.line_tensors(material.lines()[0].some(count), facts)
    return calibration.page_tensors(material.pages().some(count), pack.manifest.detector.facts())
