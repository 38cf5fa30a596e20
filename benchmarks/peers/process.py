"""A peer that stays loaded in its own process and times itself, to be interleaved with ours."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.machine import ROOT
from benchmarks.peers.predictions import REPLY


class PeerProcess:
    """A peer started with `--serve`; a context manager that ends it.

    with PeerProcess([python, "-m", "benchmarks.peers.run_rapidocr", "--serve"]) as peer:
        variant = Variant(name="rapidocr", run=lambda: peer.seconds(path))
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start it; the models load while the first path is read."""
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def seconds(self, path: Path) -> float:
        """The seconds that the peer needs for this file; RuntimeError if it has ended."""
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None and replies is not None  # both are pipes
        try:
            print(path.resolve(), file=requests, flush=True)
        except BrokenPipeError as error:
            raise RuntimeError("the peer's process has ended") from error
        for line in replies:
            word, _, number = line.partition(" ")
            if word == REPLY:  # whatever else a peer prints is not for us
                return float(number)
        raise RuntimeError(f"the peer's process ended while it read {path.name}")

    def __enter__(self) -> PeerProcess:
        """The running peer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End of input ends the peer; it is killed if it does not go."""
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
