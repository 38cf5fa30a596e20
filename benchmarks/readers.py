"""The readers that benchmarks compare: ours in this process, each peer in its own environment.

A reader is named `edge-tiny`, `cloud-small` (ours; `edge-tiny:int8` or `edge-tiny:f32:onnxruntime`
choose precision and runtime), `rapidocr`, `faster-paddle-tiny` or `faster-paddle-small`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.machine import ROOT
from benchmarks.peers.environments import interpreter, pins
from benchmarks.peers.predictions import TIMINGS, image_paths, store_predictions

OUR_PACKAGES = ("tierocr", "numpy", "opencv-python-headless", "openvino", "onnxruntime")
OURS = ("edge-tiny", "cloud-small")
TIEROCR = (sys.executable, "-c", "from tierocr.shared.cli import main; main()")
"""The command `tierocr`, in a process of this interpreter."""

Run = Callable[[Sequence[str]], None]


class Reader(Protocol):
    """What reads a set; `predict` leaves the documents and `timings.json` in `out_dir`."""

    @property
    def name(self) -> str:
        """How the reader is called in results."""

    def predict(self, set_dir: Path, out_dir: Path) -> None:
        """Read every image of the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OurReader:
    """One of our packs. Always read anew: the code is what changes."""

    name: str
    pack: str
    precision: str = "f32"
    runtime: str = "openvino"

    def predict(self, set_dir: Path, out_dir: Path) -> None:
        """Read every image of the set in this process."""
        tierocr_documents(
            self.pack,
            image_paths(set_dir),
            out_dir,
            precision=self.precision,
            runtime=self.runtime,
        )


def run_command(command: Sequence[str]) -> None:
    """Run `command` in the project's root, where `benchmarks` can be imported."""
    subprocess.run(command, cwd=ROOT, check=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerReader:
    """A peer. Complete predictions of the pinned versions are kept: they stay the same."""

    name: str
    peer: str
    command: tuple[str, ...]
    python: Path
    run: Run = run_command

    def predict(self, set_dir: Path, out_dir: Path) -> None:
        """Read every image of the set in the peer's environment, unless that has been done."""
        if is_complete(out_dir, image_paths(set_dir), pins(self.peer)):
            return
        module, *arguments = self.command
        places = [str(set_dir.resolve()), str(out_dir.resolve())]
        self.run([str(self.python), "-m", f"benchmarks.peers.{module}", *arguments, *places])


def tierocr_documents(
    pack: str,
    paths: Sequence[Path],
    out_dir: Path,
    *,
    precision: str = "f32",
    runtime: str = "openvino",
) -> None:
    """Read `paths` with one of our packs and store the documents in `out_dir`."""
    # only here: everything else in this module is about peers, and needs no runtime
    from tierocr.shared.export.json import to_json
    from tierocr.shared.ocr.tune import open_tuned
    from tierocr.shared.reading import read_file

    reader = open_tuned(pack, runtime=runtime, precision=precision)
    store_predictions(
        paths,
        out_dir,
        read=lambda path: read_file(path, reader),
        to_json=to_json,
        packages=OUR_PACKAGES,
        parameters=asdict(reader.info),  # what really runs, not what was asked for
    )


def make_reader(name: str, environments: Path | None) -> Reader:
    """The reader of that name.

    ValueError for an unknown one; FileNotFoundError for a peer whose environment is not there: now,
    and not after the other readers' minutes.
    """
    pack, *options = name.split(":")
    if pack in OURS and len(options) <= 2:
        chosen = dict(zip(("precision", "runtime"), options, strict=False))
        return OurReader(name=name, pack=pack, **chosen)
    commands = {
        "rapidocr": ("rapidocr", ("run_rapidocr",)),
        "faster-paddle-tiny": ("faster-paddle", ("run_faster_paddle", "--model", "tiny")),
        "faster-paddle-small": ("faster-paddle", ("run_faster_paddle", "--model", "small")),
    }
    if name not in commands:
        raise ValueError(f"unknown reader {name!r}; known: {', '.join([*OURS, *commands])}")
    if environments is None:
        raise ValueError(f"{name} needs the peers' environments (--peers)")
    peer, command = commands[name]
    return PeerReader(name=name, peer=peer, command=command, python=interpreter(environments, peer))


def is_complete(out_dir: Path, paths: Sequence[Path], versions: dict[str, str]) -> bool:
    """Whether `out_dir` holds predictions of just these images, made by these versions."""
    try:
        timings = read_timings(out_dir)
    except (OSError, ValueError):
        return False
    done = {*timings["seconds"], *timings["absent"]}
    known = timings["versions"]
    return done == {path.name for path in paths} and versions.items() <= known.items()


def read_timings(out_dir: Path) -> dict[str, Any]:
    """What a reader noted beside its predictions."""
    timings: dict[str, Any] = json.loads((out_dir / TIMINGS).read_text(encoding="utf-8"))
    return timings
