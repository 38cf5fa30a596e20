"""Put measured numbers into a Markdown file, between markers that name a result.

    python -m benchmarks.report README.md [--check]

What stands between `<!-- benchmark:NAME -->` and `<!-- /benchmark -->` is replaced by tables made
of `benchmarks/results/NAME.json`, so that no number in the text is typed by hand. Exit code 1 with
`--check` if the file is out of date, 2 if a marker or a result is wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.harness import RESULTS, read_result
from benchmarks.schema import Result
from benchmarks.tables import (
    Table,
    accuracy_tables,
    networks_tables,
    quantised_tables,
    serving_tables,
    speed_tables,
    tiering_tables,
)

Render = Callable[[Result], list[Table]]

TABLES: Mapping[str, Render] = {
    "accuracy": accuracy_tables,
    "networks": networks_tables,
    "quantised": quantised_tables,
    "serving": serving_tables,
    "speed": speed_tables,
    "speed_vnni": speed_tables,
    "tiering": tiering_tables,
}
"""Result name -> its tables."""

_OPEN = re.compile(r"<!-- benchmark:([a-z0-9_-]+) -->")
_CLOSE = "<!-- /benchmark -->"


def rewrite(text: str, render: Callable[[str], str]) -> str:
    """`text` with `render(NAME)` between each pair of markers; ValueError on a stray one."""
    parts: list[str] = []
    position = 0
    for match in _OPEN.finditer(text):
        end = text.find(_CLOSE, match.end())
        if end < 0 or _OPEN.search(text, match.end(), end):
            raise ValueError(f"the marker {match[0]} is not closed")
        parts += [text[position : match.end()], "\n", render(match[1]).strip("\n"), "\n"]
        position = end
    rest = text[position:]
    if "".join([*parts, rest]).count(_CLOSE) != len(parts) // 4:
        raise ValueError(f"there is a {_CLOSE} without its opening marker")
    return "".join([*parts, rest])


def markdown(result: Result, render: Render) -> str:
    """A result's tables, and below them when, where and at which revision it was measured."""
    blocks = [f"{table.title}:\n\n{_markdown_table(table)}" for table in render(result)]
    return "\n\n".join([*blocks, _source(result)])


def _markdown_table(table: Table) -> str:
    rule = ("---", *("---:" for _ in table.header[1:]))
    return "\n".join(f"| {' | '.join(row)} |" for row in (table.header, rule, *table.rows))


def _source(result: Result) -> str:
    machine = result["machine"]
    revision, _, changes = result["revision"].partition("+")
    shown = revision[:10] + (" with changes" if changes else "")
    return (
        f"Measured {result['date'][:10]} at revision {shown}, {machine['cpu']}, "
        f"{machine['cores_allowed']} cores, Python {machine['python']}."
    )


def render_from(folder: Path) -> Callable[[str], str]:
    """A function that renders a result of `folder` by its name; ValueError where it cannot."""

    def render(name: str) -> str:
        if name not in TABLES:
            raise ValueError(f"no table for {name!r}; known: {', '.join(TABLES)}")
        path = folder / f"{name}.json"
        if not path.exists():
            raise ValueError(f"there is no result {path.name}: run the benchmark first")
        return markdown(read_result(path), TABLES[name])

    return render


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(argv)
    before = options.file.read_text(encoding="utf-8")
    try:
        after = rewrite(before, render_from(options.results))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.check:
        if after != before:
            print(
                f"{options.file} is out of date: run python -m benchmarks.report", file=sys.stderr
            )
        return int(after != before)
    if after != before:
        options.file.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
