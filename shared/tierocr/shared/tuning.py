"""Which precision each network runs in on this machine, and why.

Decides: by what was measured here (`tierocr doctor --tune`) or, where nothing was, by a rule that
is right on any machine. A quantised artefact is chosen only where it passed its accuracy gate with
the kernels that run here. Must not know how anything is measured or opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tierocr.shared.models.manifest import Manifest, Network

NETWORKS: tuple[Network, ...] = ("detector", "recogniser")
FLOAT, INT8 = "f32", "int8"
VNNI = "AVX512_CORE_VNNI"

CLEARLY = 0.95
"""Another precision is taken over FP32 only if it needs at most this part of its time."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Identity(_Strict):
    """What a tuning is valid for: any difference and it counts no more."""

    processor: str
    kernels: str | None
    threads: int
    runtime: str
    pack: str


class Candidate(_Strict):
    """One network in one precision: milliseconds on the pack's canary page, or why it is out."""

    network: Network
    precision: str
    milliseconds: float | None = None
    rejected: str | None = None


class Tuning(_Strict):
    """What was measured on one machine; the file that `tierocr doctor --tune` keeps."""

    schema_: Literal["tierocr.tuning/1"] = Field(default="tierocr.tuning/1", alias="schema")
    identity: Identity
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The precision of either network, and why, for people."""

    detector: str
    recogniser: str
    why: str


def candidates(
    manifest: Manifest, runtime: str, can: Iterable[str], kernels: str | None
) -> dict[Network, list[str]]:
    """The precisions that each network may run in on a runtime, FP32 first.

    `can`: what the runtime computes on this machine. `kernels`: whose INT8 kernels run here.
    """
    found: dict[Network, list[str]] = {network: [] for network in NETWORKS}
    for artefact in manifest.artefacts:
        if artefact.runtime != runtime:
            continue
        for precision in artefact.precisions:
            gated = precision != INT8 or any(m.isa == kernels for m in artefact.measured)
            if precision in can and gated and precision not in found[artefact.network]:
                found[artefact.network].append(precision)
    return {n: sorted(names, key=lambda name: name != FLOAT) for n, names in found.items()}


def choose(
    tuning: Tuning | None, allowed: Mapping[Network, list[str]], kernels: str | None
) -> Choice:
    """The fastest of what was measured. Untuned FP32, which is right everywhere; but INT8 where the
    processor multiplies bytes in one step (VNNI), as it is faster on any such. With AMX bf16 is
    faster still, and INT8 counts only where the gate ran AMX kernels too.
    """
    if tuning is None:
        detector, recogniser = (
            INT8 if INT8 in allowed[network] and kernels == VNNI else _float(allowed[network])
            for network in NETWORKS
        )
        return Choice(
            detector=detector,
            recogniser=recogniser,
            why="not tuned on this machine (tierocr doctor --tune)",
        )
    detector = _fastest(tuning, "detector", allowed)
    recogniser = _fastest(tuning, "recogniser", allowed)
    return Choice(
        detector=detector, recogniser=recogniser, why="the fastest of those measured here"
    )


def load(path: Path, identity: Identity) -> Tuning | None:
    """The tuning kept at `path`; None where there is none, or it is of another machine, runtime or
    pack.
    """
    try:
        tuning = Tuning.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None
    return tuning if tuning.identity == identity else None


def _float(allowed: list[str]) -> str:
    return FLOAT if FLOAT in allowed or not allowed else allowed[0]


def _fastest(tuning: Tuning, network: Network, allowed: Mapping[Network, list[str]]) -> str:
    times = {
        c.precision: c.milliseconds
        for c in tuning.candidates
        if c.network == network
        and c.milliseconds is not None
        and c.rejected is None
        and c.precision in allowed[network]
    }
    if not times:
        return _float(allowed[network])
    best = min(times, key=lambda precision: times[precision])
    clearly = FLOAT not in times or times[best] <= CLEARLY * times[FLOAT]
    return best if clearly else FLOAT
