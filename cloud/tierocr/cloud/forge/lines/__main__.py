"""`python -m tierocr.cloud.forge.lines OUT --seed 7 --count 100 [--pages]`: a labelled folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tierocr.cloud.forge.lines.folder import write_lines, write_pages
from tierocr.cloud.forge.lines.generator import generate_lines
from tierocr.cloud.forge.lines.pages import generate_pages
from tierocr.shared.errors import TierocrError


def main() -> int:
    """Write the folder; 1 when it cannot be written here."""
    parser = argparse.ArgumentParser(prog="lines", description="Generate labelled lines or pages.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--pages", action="store_true", help="whole pages instead of lines")
    args = parser.parse_args()
    try:
        if args.pages:
            count = write_pages(args.out, generate_pages(args.seed, args.count))
        else:
            count = write_lines(args.out, generate_lines(args.seed, args.count))
    except TierocrError as error:
        print(error.message, file=sys.stderr)
        return 1
    print(f"{args.out}  {count:,} images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
