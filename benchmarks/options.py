"""What the commands of the benchmarks have in common: their options, and how they end."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import RESULTS, write_result
from benchmarks.schema import Result


def parser_for(name: str, description: str | None) -> argparse.ArgumentParser:
    """A parser with `--data` (default $TIEROCR_DATA), `--work` and `--out`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("TIEROCR_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None)
    parser.add_argument("--work", type=Path, default=Path("out", name))
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    return parser


def set_folders(data: Path | None, names: Sequence[str]) -> list[Path]:
    """The folders of the named sets; ValueError if one is not there, or none is named."""
    if data is None:
        raise ValueError("no labelled pages: give --data or set TIEROCR_DATA")
    if not names:
        raise ValueError("no sets to read")
    folders = [data / name for name in names]
    missing = [folder.name for folder in folders if not (folder / "labels.jsonl").exists()]
    if missing:
        raise ValueError(f"no labels.jsonl for {', '.join(missing)} in {data}")
    return folders


def conclude(result: Result, path: Path) -> int:
    """Keep the result and print how each bar was met; the exit code, 1 if one was missed."""
    write_result(result, path)
    for verdict in result["verdicts"]:
        mark = "kept  " if verdict["passed"] else "MISSED"
        print(
            f"{mark} {verdict['variant']:12s} {verdict['case']:18s} {verdict['bar']:50s}"
            f" {verdict['value']:.4f} ({verdict['limit']})"
        )
    return 0 if all(verdict["passed"] for verdict in result["verdicts"]) else 1
