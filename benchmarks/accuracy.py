"""Accuracy of our readers and of the peers on labelled sets, and whether our bars are kept.

    python -m benchmarks.accuracy --data DIR --peers ENVIRONMENTS [--sets a,b] [--readers r,s]

Every reader reads every set, the predictions are scored with `benchmarks.score`, and one result is
written. Predictions stay in the `--work` folder. With `--readers` only these are read; the others
keep what the result file says about them, if it is about the same sets. Exit code 1 if a bar is
missed, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.bars import BAR_SETS, judge
from benchmarks.harness import (
    Start,
    begin,
    build_result,
    read_result,
    variant_record,
    write_result,
)
from benchmarks.options import parser_for, set_folders
from benchmarks.readers import OUR_PACKAGES, Reader, make_reader, read_timings
from benchmarks.schema import Measure, Result, VariantRecord
from benchmarks.score import score_set
from benchmarks.tables import Table, accuracy_tables, verdict_table

READERS = ("edge-tiny", "faster-paddle-tiny", "cloud-small", "rapidocr", "faster-paddle-small")
SETS = (*BAR_SETS, "pubtabnet_examples", "zh_docs_eye", "en_scans_eye", "screens_en")
WHAT = "Text read from labelled pages, compared with the labels (benchmarks.score)"

Found = tuple[list[VariantRecord], list[Measure]]


def measure(readers: Iterable[Reader], sets: Sequence[Path], work: Path, start: Start) -> Found:
    """Let each reader read each set, and score what it read."""
    variants: list[VariantRecord] = []
    measures: list[Measure] = []
    for reader in readers:
        for set_dir in sets:
            out_dir = work / reader.name.replace(":", "_") / set_dir.name
            reader.predict(set_dir, out_dir)
            scores = score_set(set_dir, out_dir)
            values = {key: value for key, value in scores.items() if key != "set"}
            measures.append(Measure(variant=reader.name, case=set_dir.name, values=values))
            timings = read_timings(out_dir)
        variants.append(
            variant_record(
                reader.name,
                start,
                versions=timings["versions"],
                parameters=timings["parameters"],
            )
        )
    return variants, measures


def merge(earlier: Result, found: Found) -> Found:
    """Add what an earlier result says of other readers, if it is about the same sets."""
    variants, measures = list(found[0]), list(found[1])
    if {m["case"] for m in earlier["measures"]} != {m["case"] for m in measures}:
        print("note: the earlier result is about other sets and is replaced", file=sys.stderr)
        return found
    new = {variant["name"] for variant in variants}
    variants += [v for v in earlier["variants"] if v["name"] not in new]
    measures += [m for m in earlier["measures"] if m["variant"] not in new]
    return (
        sorted(variants, key=lambda v: _place(v["name"])),
        sorted(measures, key=lambda m: _place(m["variant"])),
    )


def _place(name: str) -> tuple[int, str]:
    """Ours beside its peer, whichever was measured first."""
    reader = name.partition(":")[0]
    return READERS.index(reader) if reader in READERS else len(READERS), name


def show(result: Result) -> None:
    """Print the tables and the verdicts."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)  # in a pipe nothing wraps
    for table in [*accuracy_tables(result), verdict_table(result)]:
        if table.rows:
            console.print(_rich(table))
    missed = sum(not verdict["passed"] for verdict in result["verdicts"])
    console.print(f"{len(result['verdicts'])} bars judged, {missed} missed")


def _rich(table: Table) -> RichTable:
    shown = RichTable(*table.header, title=table.title, title_justify="left")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    options = parse(argv)
    try:
        readers = [make_reader(name, options.peers) for name in _names(options.readers)]
        sets = set_folders(options.data, _names(options.sets))
        # read before anything runs, so that a broken file does not cost the run
        earlier = read_result(options.out) if options.out.exists() else None
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    start = begin(OUR_PACKAGES)
    found = measure(readers, sets, options.work, start)
    variants, measures = merge(earlier, found) if earlier else found
    verdicts = judge(measures)
    result = build_result(
        "accuracy", WHAT, start=start, variants=variants, measures=measures, verdicts=verdicts
    )
    write_result(result, options.out)
    show(result)
    return 0 if all(verdict["passed"] for verdict in verdicts) else 1


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command's options."""
    parser = parser_for("accuracy", __doc__)
    parser.add_argument("--peers", type=Path, help="the peers' environments")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--readers", default=",".join(READERS))
    return parser.parse_args(argv)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


if __name__ == "__main__":
    sys.exit(main())
