"""`python -m tierocr.cloud.forge.sample_pages OUT_DIR [--seed 7]` draws every sample page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tierocr.cloud.forge.sample_pages.catalogue import SAMPLES
from tierocr.cloud.forge.sample_pages.writer import write_sample
from tierocr.shared.errors import TierocrError


def main() -> int:
    """Write the pages; 1 when they cannot be drawn here."""
    parser = argparse.ArgumentParser(prog="sample_pages", description="Draw the sample pages.")
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.out_dir.mkdir(parents=True, exist_ok=True)
    try:
        for sample in SAMPLES:
            path = write_sample(sample, args.out_dir, args.seed)
            print(f"{path}  {path.stat().st_size:,} bytes")
    except TierocrError as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
