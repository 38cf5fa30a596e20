"""`python -m tierocr.cloud`: the same as `tierocr cloud serve`."""

from __future__ import annotations

import sys

import typer

from tierocr.cloud.commands import serve
from tierocr.shared.errors import TierocrError
from tierocr.shared.heap import return_large_blocks


def main() -> None:
    """Serve; exit code 2 when it cannot start as it was told to."""
    return_large_blocks()
    try:
        typer.run(serve)
    except TierocrError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
