"""One quantised artefact: which file for which runtime, and what a pack says about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierocr.cloud.forge.quantise import openvino_int8, qdq
from tierocr.cloud.forge.quantise.levels import RoundedLayer, rounded_layers
from tierocr.shared.document import Floats
from tierocr.shared.models.manifest import Artefact, Network, Pack, digest
from tierocr.shared.models.rewriting import BUILT


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An INT8 artefact on disk. `target`: a key of `qdq.TARGETS` for TensorRT, else None."""

    network: Network
    runtime: str
    file: Path
    target: str | None = None

    @property
    def name(self) -> str:
        """For people: "recogniser for tensorrt trt10"."""
        return " ".join(filter(None, (f"{self.network} for {self.runtime}", self.target)))

    @property
    def files(self) -> list[Path]:
        """The file, and the weights beside it if they stand apart."""
        return (
            [self.file, self.file.with_suffix(".bin")]
            if self.file.suffix == ".xml"
            else [self.file]
        )

    def entry(self, measured: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """The row of `artefacts` in `pack.yaml`."""
        row: dict[str, Any] = {"network": self.network, "runtime": self.runtime}
        row |= {"precisions": [BUILT], "file": self.file.name}
        if len(self.files) > 1:
            row["weights"] = self.files[1].name
        if self.target is not None:
            row["target"] = self.target
        if measured:
            row["measured"] = list(measured)
        return row

    def digests(self) -> dict[str, str]:
        """File name -> SHA-256."""
        return {file.name: digest(file) for file in self.files}


def make_for_openvino(
    pack: Pack,
    network: Network,
    tensors: Sequence[Floats],
    keep: Sequence[str],
    folder: Path,
    note: Callable[[str], None] = lambda _: None,
) -> Made:
    """Quantise a network for OpenVINO into `folder`. Raises TierocrError `model_invalid`."""
    original = openvino_int8.to_openvino(fp32_file(pack, network))
    quantised = openvino_int8.quantise(
        original, tensors, keep, lambda layer: note(f"rounding the {network}'s {layer}")
    )
    file, _ = openvino_int8.save(quantised, folder / f"{network}-int8.xml")
    return Made(network=network, runtime="openvino", file=file)


def layers_for_tensorrt(
    pack: Pack,
    network: Network,
    tensors: Sequence[Floats],
    keep: Sequence[str],
    note: Callable[[str], None] = lambda _: None,
) -> list[RoundedLayer]:
    """The layers of a network rounded for TensorRT, any release. Raises TierocrError
    `model_invalid`.
    """
    original = openvino_int8.to_openvino(fp32_file(pack, network))
    names = [n for n in openvino_int8.quantised_layers(original) if n not in keep]
    quantised = openvino_int8.quantise(
        original,
        tensors,
        keep,
        lambda layer: note(f"rounding the {network}'s {layer}, signed"),
        signed=True,
    )
    return rounded_layers(quantised, names)


def make_for_tensorrt(
    pack: Pack, network: Network, layers: Sequence[RoundedLayer], target: str, folder: Path
) -> Made:
    """Write a network for a release of TensorRT into `folder`. Raises TierocrError
    `model_invalid`.
    """
    file = folder / f"{network}-int8-{target}.onnx"
    quantised = qdq.quantise(fp32_file(pack, network), layers, target)
    file.write_bytes(quantised.SerializeToString(deterministic=True))
    return Made(network=network, runtime="tensorrt", file=file, target=target)


def fp32_file(pack: Pack, network: Network) -> Path:
    """The ONNX file that a network is made from. Raises TierocrError `model_invalid`."""
    return pack.artefact(network, "openvino", "f32")


def in_pack(pack: Pack, artefact: Artefact) -> Made:
    """An INT8 artefact that a pack has already. Raises TierocrError `model_invalid`."""
    file = pack.artefact(artefact.network, artefact.runtime, BUILT, artefact.target)
    return Made(
        network=artefact.network, runtime=artefact.runtime, file=file, target=artefact.target
    )
