"""`pack.yaml` as validated values, and the one place that turns its entries into checked file
paths.
"""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tierocr.shared.detection import DetectorFacts
from tierocr.shared.errors import TierocrError
from tierocr.shared.recognition import SPACE, RecogniserFacts

SCHEMA = "tierocr.pack/1"
Network = Literal["detector", "recogniser"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InstalledFile(_Strict):
    """A file that stands in another installed distribution, found by that package's own
    metadata.
    """

    distribution: str
    version: str
    path: str


class PackFile(_Strict):
    """One file: its SHA-256 and, where it is not in the pack's folder, the distribution it stands
    in.
    """

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    installed: InstalledFile | None = None


class OriginFile(_Strict):
    """What a file was made from."""

    path: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Origin(_Strict):
    """Where the weights come from and the command that makes the pack again."""

    package: str
    version: str
    files: dict[str, OriginFile]
    how: str


class DetectorEntry(_Strict):
    """See `DetectorFacts`."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    stride: int
    side: int
    bucket: int
    threshold: float
    box_threshold: float
    unclip_ratio: float

    def facts(self) -> DetectorFacts:
        """The values the detector works with."""
        return DetectorFacts(**self.model_dump())


class RecogniserEntry(_Strict):
    """See `RecogniserFacts`; `charset` names a file with one character a line, a space is added
    last.
    """

    charset: str
    decoder: Literal["ctc"]
    mean: float
    std: float
    height: int
    stride: int
    bucket: int
    min_width: int
    max_width: int
    end_padding: int

    def facts(self, charset: tuple[str, ...]) -> RecogniserFacts:
        """The values the recogniser works with."""
        values = self.model_dump(exclude={"charset", "decoder"})
        return RecogniserFacts(charset=charset, **values)


class Measured(_Strict):
    """What a quantised artefact lost against FP32 on the same lines, read in one way.

    `isa`: the most that the CPU's kernels were allowed, as oneDNN names it; `batch`: the largest
    number of lines in one call. `reference` and `exact`: exact match of FP32 and of the artefact;
    `loss`: their difference; `bound`: its one-sided 95 % upper bound; all in points.
    """

    isa: str
    batch: int
    lines: int
    reference: float
    exact: float
    loss: float
    bound: float


class Artefact(_Strict):
    """One network as a file for one runtime. `precisions` is what the weights allow at most.

    `weights`: a second file that the first one needs, beside it (OpenVINO's `.bin`). `target`: the
    releases of the runtime that the file is for, where it matters. `measured`: of quantised ones.
    """

    network: Network
    runtime: str
    precisions: tuple[str, ...]
    file: str
    weights: str | None = None
    target: str | None = None
    measured: tuple[Measured, ...] = ()


class Canary(_Strict):
    """A page whose text is known: a network that reads anything else on it is not fit for use.

    `lines`: what the FP32 networks read, in reading order.
    """

    image: str
    lines: tuple[str, ...]


class Built(_Strict):
    """How quantised artefacts were made: enough to make them again, bit by bit.

    `files`: those that the command wrote and that the pack still has. `how`: the command; `tools`:
    name -> version; `calibration`: where the calibration data came from; `measured_on`: the
    processor; `not_measured`: instruction sets that the gate asks for and that processor lacks.
    """

    files: tuple[str, ...]
    how: str
    seed: int
    calibration: str
    tools: dict[str, str]
    measured_on: str
    not_measured: tuple[str, ...] = ()


class Manifest(_Strict):
    """The whole of `pack.yaml`."""

    schema_: Literal["tierocr.pack/1"] = Field(alias="schema")
    name: str
    version: int
    licence: str
    origin: Origin
    files: dict[str, PackFile]
    detector: DetectorEntry
    recogniser: RecogniserEntry
    artefacts: tuple[Artefact, ...]
    canary: Canary | None = None
    built: tuple[Built, ...] = ()


class Pack:
    """A pack on disk. Files are handed out only after their digest was checked (once per
    object).
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """See `load_pack`."""
        self.folder = folder
        self.manifest = manifest
        self._checked: dict[str, Path] = {}

    @property
    def name(self) -> str:
        """The pack's name."""
        return self.manifest.name

    @property
    def fingerprint(self) -> str:
        """The digest of the manifest, and so of everything that it lists."""
        return digest(self.folder / "pack.yaml")

    def file(self, name: str) -> Path:
        """The checked path of a file.

        Raises TierocrError `model_invalid` when it is missing, from another version, or its digest
        differs.
        """
        if name not in self._checked:
            entry = self.manifest.files.get(name)
            if entry is None:
                raise TierocrError("model_invalid", f"pack {self.name} lists no file {name!r}")
            path = _installed_path(self.name, entry.installed) if entry.installed else None
            self._checked[name] = _verified(self.name, path or self.folder / name, entry.sha256)
        return self._checked[name]

    def has(self, network: Network, runtime: str, precision: str) -> bool:
        """Whether the pack lists a network for a runtime and precision."""
        return any(
            (a.network, a.runtime) == (network, runtime) and precision in a.precisions
            for a in self.manifest.artefacts
        )

    def artefact(
        self, network: Network, runtime: str, precision: str, target: str | None = None
    ) -> Path:
        """The checked file of a network for a runtime and precision; its second file, if it has
        one, is checked as well.

        `target`: for certain releases of the runtime; None takes the first that fits. Raises
        TierocrError `model_invalid`.
        """
        for artefact in self.manifest.artefacts:
            same = (artefact.network, artefact.runtime) == (network, runtime)
            if same and precision in artefact.precisions and target in (None, artefact.target):
                if artefact.weights is not None:
                    self.file(artefact.weights)
                return self.file(artefact.file)
        have = sorted({f"{a.runtime} {p}" for a in self.manifest.artefacts for p in a.precisions})
        raise TierocrError(
            "model_invalid",
            f"pack {self.name} has no {network} for {runtime} {precision}; "
            f"it has: {', '.join(have)}",
        )

    def charset(self) -> tuple[str, ...]:
        """The recogniser's characters by class, from class 1 on; spaces of any width are
        `SPACE`.
        """
        text = self.file(self.manifest.recogniser.charset).read_text(encoding="utf-8")
        characters = text.removesuffix("\n").split("\n")
        return (*(SPACE if c.isspace() else c for c in characters), SPACE)

    def verify(self) -> None:
        """Check every file. Raises TierocrError `model_invalid`."""
        for name in self.manifest.files:
            self.file(name)


def load_pack(folder: Path) -> Pack:
    """Read a pack's manifest. Raises TierocrError `model_invalid` when it is missing or
    malformed.
    """
    path = folder / "pack.yaml"
    try:
        manifest = Manifest.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TierocrError("model_invalid", f"no readable pack.yaml in {folder}") from error
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise TierocrError("model_invalid", f"{path} is not a valid pack: {error}") from error
    return Pack(folder, manifest)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def _verified(pack: str, path: Path, sha256: str) -> Path:
    try:
        found = digest(path)
    except OSError as error:
        raise TierocrError("model_invalid", f"pack {pack}: cannot read {path}") from error
    if found != sha256:
        raise TierocrError(
            "model_invalid",
            f"pack {pack}: {path} has SHA-256 {found[:12]}…, expected {sha256[:12]}…",
        )
    return path


def _installed_path(pack: str, entry: InstalledFile) -> Path:
    try:
        distribution = metadata.distribution(entry.distribution)
    except metadata.PackageNotFoundError as error:
        raise TierocrError(
            "model_invalid",
            f"pack {pack} needs {entry.distribution}=={entry.version}, which is not installed: "
            f"pip install 'tierocr[cloud]'",
        ) from error
    if distribution.version != entry.version:
        raise TierocrError(
            "model_invalid",
            f"pack {pack} needs {entry.distribution}=={entry.version}, "
            f"but {distribution.version} is installed",
        )
    return Path(str(distribution.locate_file(entry.path)))
