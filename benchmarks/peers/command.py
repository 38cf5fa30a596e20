"""The command line that all peers share: read a set once, or stay and be timed path by path.

Standard library only: this runs in the peers' environments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.peers.predictions import (
    TextLine,
    image_paths,
    page_json,
    serve,
    store_predictions,
)

Output = TypeVar("Output")


def parse_arguments(
    doc: str | None, argv: Sequence[str] | None, *, models: Sequence[str] = ()
) -> argparse.Namespace:
    """SET_DIR OUT_DIR or --serve, and --model where the peer has several."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if models:
        parser.add_argument("--model", choices=models, default=models[0])
    parser.add_argument("--serve", action="store_true", help="time the paths that come on stdin")
    parser.add_argument("set_dir", type=Path, nargs="?")
    parser.add_argument("out_dir", type=Path, nargs="?")
    options = parser.parse_args(argv)
    if not options.serve and options.out_dir is None:
        parser.error("give SET_DIR and OUT_DIR, or --serve")
    return options


def run_peer(
    options: argparse.Namespace,
    *,
    read: Callable[[Path], Output],
    to_lines: Callable[[Output], list[TextLine]],
    packages: Sequence[str],
    parameters: dict[str, Any],
) -> None:
    """Do what the command line asks for with a reader that is loaded."""
    if options.serve:
        serve(read, sys.stdin, sys.stdout)
        return
    store_predictions(
        image_paths(options.set_dir),
        options.out_dir,
        read=read,
        to_json=lambda output: page_json(to_lines(output)),
        packages=packages,
        parameters=parameters,
    )
