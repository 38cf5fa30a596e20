"""Where the peers' environments stand and what they must have installed."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = ("rapidocr", "faster-paddle")


def requirements(peer: str) -> Path:
    """The file with a peer's pinned packages."""
    return HERE / f"requirements-{peer}.txt"


def pins(peer: str) -> dict[str, str]:
    """Package -> version that a peer must be measured with."""
    lines = requirements(peer).read_text(encoding="utf-8").splitlines()
    rows = [line.partition("#")[0].strip() for line in lines]
    return {name: version for name, _, version in (row.partition("==") for row in rows) if name}


def interpreter(environments: Path, peer: str) -> Path:
    """A peer's Python: that of one environment for all peers, else of the peer's own in it."""
    tail = Path("Scripts", "python.exe") if os.name == "nt" else Path("bin", "python")
    for folder in (environments, environments / peer):
        if (folder / tail).exists():
            # not resolved: it is a link, and where it stands makes the environment
            return (folder / tail).absolute()
    raise FileNotFoundError(
        f"no environment for {peer} in {environments}: run python -m benchmarks.peers.setup"
    )
