"""Make the peers' environments: one virtual environment per peer, with its pinned packages.

    python -m benchmarks.peers.setup DIR [PEER ...]

Without a PEER, all of them.
"""

from __future__ import annotations

import argparse
import subprocess
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.peers.environments import PEERS, interpreter, requirements

Make = Callable[[Path], None]
Run = Callable[[Sequence[str]], None]


def make_environment(folder: Path) -> None:
    """A fresh virtual environment with pip."""
    venv.create(folder, with_pip=True, clear=True)


def run_command(command: Sequence[str]) -> None:
    """Run `command`; CalledProcessError if it fails."""
    subprocess.run(command, check=True)


def set_up(
    folder: Path,
    peers: Sequence[str],
    *,
    make: Make = make_environment,
    run: Run = run_command,
) -> None:
    """Make `folder/PEER` for each peer and install its packages there."""
    for peer in peers:
        make(folder / peer)
        python = interpreter(folder, peer)
        run([str(python), "-m", "pip", "install", "--requirement", str(requirements(peer))])


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)}")
    options = parser.parse_args(argv)
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown peer {', '.join(sorted(unknown))}; known: {', '.join(PEERS)}")
    set_up(options.folder, options.peers or PEERS)


if __name__ == "__main__":
    main()
