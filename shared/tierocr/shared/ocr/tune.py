"""Measures which precision of a pack's networks is the fastest on this machine, and keeps it.

Each candidate first reads the pack's canary page: one whose text differs from the stored one is out
whatever its speed. What is chosen of the measured ones is decided by `tierocr.shared.tuning`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from tierocr.shared import tuning
from tierocr.shared.document import EDGE, PageImage
from tierocr.shared.engines import EngineOptions, precisions_of, version_of
from tierocr.shared.engines.processor import processor, running_kernels
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, decode_pages
from tierocr.shared.models.manifest import Network, Pack
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.places import cache_folder, keep_newest
from tierocr.shared.tuning import FLOAT, INT8, NETWORKS, Candidate, Choice, Identity, Tuning

AUTO = "auto"
COMPILED_BYTES = 256 << 20

ROUNDS = 7
"""Readings of the canary page by each candidate, in turns; the median counts."""

_STAGE: dict[Network, str] = {"detector": "detect", "recogniser": "recognise"}


def choice_for(pack: Pack, runtime: str, device: str = "CPU") -> Choice:
    """What to run here: as it was tuned, or by the rule for machines that were not."""
    kernels = running_kernels()
    allowed = tuning.candidates(pack.manifest, runtime, precisions_of(runtime, device), kernels)
    kept = _place(pack, runtime)
    found = tuning.load(kept, identity(pack, runtime, device)) if kept else None
    return tuning.choose(found, allowed, kernels)


def open_tuned(
    pack: str | Pack, *, runtime: str = "openvino", precision: str = AUTO, source: str = EDGE
) -> Reader:
    """A reader that runs what is best here, or in a precision by name; compiled networks are kept.

    "int8" quantises what the pack has quantised and leaves the rest in FP32. Raises like
    `open_reader`.
    """
    pack = find_pack(pack) if isinstance(pack, str) else pack
    if precision == AUTO:
        choice = choice_for(pack, runtime)
        detector, recogniser = choice.detector, choice.recogniser
    else:
        detector = recogniser = precision
        if precision == INT8 and not pack.has("detector", runtime, INT8):
            detector = FLOAT
    return open_reader(
        pack,
        runtime=runtime,
        options=EngineOptions(precision=recogniser, cache_dir=compiled_folder()),
        detector_precision=detector,
        source=source,
    )


def compiled_folder() -> Path | None:
    """Where compiled networks are kept, within bounds."""
    folder = cache_folder("compiled")
    if folder is not None:
        keep_newest(folder, COMPILED_BYTES)
    return folder


def identity(pack: Pack, runtime: str, device: str = "CPU") -> Identity:
    """What a tuning made now is valid for."""
    return Identity(
        processor=processor().describe(),
        kernels=running_kernels(),
        threads=cpu_quota(),
        runtime=f"{runtime} {version_of(runtime)} {device}",
        pack=pack.fingerprint,
    )


def tune(pack: Pack, runtime: str, *, note: Callable[[str], None]) -> Tuning:
    """Measure every candidate, keep the result, and return it.

    Raises TierocrError `model_invalid` when the pack has no canary page or FP32 itself misreads it,
    `output_failed` when there is nowhere to keep what was found.
    """
    if pack.manifest.canary is None:
        raise TierocrError("model_invalid", f"pack {pack.name} has no canary page to tune with")
    kept = _place(pack, runtime)
    if kept is None:
        raise TierocrError("output_failed", "there is no cache folder that can be written")
    page = canary_page(pack)
    options = EngineOptions(cache_dir=compiled_folder())
    precisions = precisions_of(runtime, options.device)
    allowed = tuning.candidates(pack.manifest, runtime, precisions, running_kernels())
    measured: list[Candidate] = []
    for network in NETWORKS:
        note(f"{network}: {', '.join(allowed[network])}")
        readers = {p: _open(pack, runtime, options, network, p) for p in allowed[network]}
        measured += _measure(network, readers, page, pack.manifest.canary.lines)
    found = Tuning(identity=identity(pack, runtime, options.device), candidates=tuple(measured))
    _keep(found, kept)
    return found


def canary_page(pack: Pack) -> PageImage:
    """The page whose text is known. Raises TierocrError `model_invalid` when it has none."""
    canary = pack.manifest.canary
    if canary is None:
        raise TierocrError("model_invalid", f"pack {pack.name} has no canary page")
    data = pack.file(canary.image).read_bytes()
    page = next(iter(decode_pages(data, limits=Limits())))
    assert isinstance(page, PageImage)  # its digest was checked
    return page


def _open(
    pack: Pack, runtime: str, options: EngineOptions, network: Network, precision: str
) -> Reader:
    """A reader in which only the network looked at is not in FP32."""
    detector, recogniser = (precision if network == n else FLOAT for n in NETWORKS)
    options = replace(options, precision=recogniser)
    return open_reader(pack, runtime=runtime, options=options, detector_precision=detector)


def _measure(
    network: Network, readers: dict[str, Reader], page: PageImage, wanted: tuple[str, ...]
) -> list[Candidate]:
    rejected: dict[str, str] = {}
    for precision, reader in readers.items():
        read = tuple(line.text for line in reader.read(page).page.lines)
        if not same_text(wanted, read):
            rejected[precision] = f"reads {_difference(wanted, read)}"
    seconds: dict[str, list[float]] = {p: [] for p in readers if p not in rejected}
    for _ in range(ROUNDS):
        for precision, times in seconds.items():
            times.append(readers[precision].read(page).seconds[_STAGE[network]])
    return [
        Candidate(
            network=network,
            precision=p,
            milliseconds=round(1000 * median(seconds[p]), 2) if p in seconds else None,
            rejected=rejected.get(p),
        )
        for p in readers
    ]


def same_text(wanted: Sequence[str], read: Sequence[str]) -> bool:
    """Whether lines say the same. Where a space is so narrow that one precision sees it and another
    does not, neither is broken.
    """
    return [_without_spaces(line) for line in wanted] == [_without_spaces(line) for line in read]


def _without_spaces(line: str) -> str:
    return line.replace(" ", "")


def _difference(wanted: tuple[str, ...], read: tuple[str, ...]) -> str:
    if len(wanted) != len(read):
        return f"{len(read)} lines of the canary page instead of {len(wanted)}"
    pairs = zip(wanted, read, strict=True)
    return next(
        f"{now!r} instead of {text!r}" for text, now in pairs if not same_text([text], [now])
    )


def _place(pack: Pack, runtime: str) -> Path | None:
    folder = cache_folder("tuning")
    return folder / f"{pack.name}-{runtime}.json" if folder else None


def _keep(found: Tuning, path: Path) -> None:
    part = path.with_suffix(f".{os.getpid()}")
    try:
        part.write_text(found.model_dump_json(by_alias=True, indent=1), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise TierocrError("output_failed", f"cannot write {path}: {error}") from error
