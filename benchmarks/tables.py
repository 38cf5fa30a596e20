"""Tables made of results: rows of text, printed on a terminal or put into a Markdown file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bars import BAR_SETS, Scores, Values, exact_rate, scores_of
from benchmarks.schema import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A header and rows of the same length; `title` says what a cell holds."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def accuracy_tables(result: Result) -> list[Table]:
    """Sets as rows, readers as columns: sets with boxes, then those without, if any."""
    scores = scores_of(result["measures"])
    boxed = _table("EM / CER", "EM", "labels", scores, _exact_and_errors)
    unboxed = _table("line recall / length ratio", "line_recall", "lines", scores, _recall)
    return [table for table in (_with_mean(boxed, scores), unboxed) if table.rows]


def tiering_tables(result: Result) -> list[Table]:
    """Sets as rows: exact matches by router, what was won back, what was sent."""
    table = {(m["variant"], m["case"]): m["values"] for m in result["measures"]}
    rows = []
    for case in dict.fromkeys(measure["case"] for measure in result["measures"]):
        edge, tiered, chance, cloud = (
            table[router, case]["exact"] for router in ("edge", "tiered", "random", "cloud")
        )
        values = table["tiered", case]
        gap = cloud - edge
        rows.append(
            (
                f"{case} ({values['labels']:.0f})",
                *(f"{count:.0f}" for count in (edge, tiered, cloud)),
                *(f"{100 * (c - edge) / gap:.0f} %" if gap else "-" for c in (tiered, chance)),
                f"{100 * values['sent_lines'] / values['lines']:.0f} %",
                f"{100 * values['sent_bytes'] / values['page_bytes']:.0f} %",
            )
        )
    header = ("set (labels)", "edge", "two tiers", "cloud", "won back", "by a random router")
    title = "exact matches; share of the cloud's lead won back; shares of lines and page bytes sent"
    return [Table(title=title, header=(*header, "lines sent", "bytes sent"), rows=tuple(rows))]


def speed_tables(result: Result) -> list[Table]:
    """Cases as rows: milliseconds a page, and each peer's time over ours with its interval."""

    def cell(values: Values) -> str:
        return f"{1000 * values['seconds_median'] / values.get('pages', 1):.0f}"

    table = _by_case(result, "milliseconds a page, median; a start reads one page", cell)
    peers = list(dict.fromkeys(ratio["of"] for ratio in result["ratios"]))
    times = {
        (r["of"], r["case"]): f"{r['median']:.1f} ({r['low']:.1f}-{r['high']:.1f})"
        for r in result["ratios"]
    }
    rows = [(*row, *(times.get((peer, row[0]), "-") for peer in peers)) for row in table.rows]
    header = (*table.header, *(f"{peer} over ours" for peer in peers))
    return [Table(title=table.title, header=header, rows=tuple(rows))]


def networks_tables(result: Result) -> list[Table]:
    """Kernels as rows: milliseconds of one batch by precision."""

    def cell(values: Values) -> str:
        return f"{1000 * values['seconds_median']:.1f}"

    title = "milliseconds of the recogniser for a batch of 8 x 48 x 384, median"
    return [_by_case(result, title, cell, "seconds_median")]


def quantised_tables(result: Result) -> list[Table]:
    """Sets as rows: how many labels each precision reads exactly, by kernels."""
    labels = {m["case"]: m["values"]["labels"] for m in result["measures"]}
    table = _by_case(result, "exact matches", lambda values: f"{values['exact']:.0f}")
    rows = [(f"{case} ({labels[case]:.0f})", *cells) for case, *cells in table.rows]
    return [Table(title=table.title, header=("set (labels)", *table.header[1:]), rows=tuple(rows))]


def serving_tables(result: Result) -> list[Table]:
    """Services as rows: lines a second and the latency that 99 of 100 keep."""
    rows = [
        (
            measure["variant"],
            f"{measure['values']['lines_per_second_median']:.0f}",
            f"{1000 * measure['values']['seconds_p99_median']:.0f}",
        )
        for measure in result["measures"]
    ]
    given = result["variants"][0]["parameters"]
    title = f"{given['pack']}, {given['clients']} clients"
    return [Table(title=title, header=("service", "lines/s", "p99, ms"), rows=tuple(rows))]


def verdict_table(result: Result) -> Table:
    """The bars and whether they are kept; missed ones first."""
    rows = [
        (
            "kept" if verdict["passed"] else "MISSED",
            verdict["variant"],
            verdict["case"],
            verdict["bar"],
            f"{verdict['value']:.4f}",
            f"{verdict['limit']:.4f}",
            verdict["peer"] or "-",
        )
        for verdict in sorted(result["verdicts"], key=lambda verdict: verdict["passed"])
    ]
    header = ("bar", "reader", "set", "rule", "value", "limit", "peer")
    return Table(title="Bars", header=header, rows=tuple(rows))


def _by_case(
    result: Result, title: str, cell: Callable[[Values], str], key: str | None = None
) -> Table:
    """Cases as rows, variants as columns; only measures that have `key`."""
    measures = [m for m in result["measures"] if key is None or key in m["values"]]
    cells = {(m["variant"], m["case"]): cell(m["values"]) for m in measures}
    names = list(dict.fromkeys(m["variant"] for m in measures))
    rows = tuple(
        (case, *(cells.get((name, case), "-") for name in names))
        for case in dict.fromkeys(m["case"] for m in measures)
    )
    return Table(title=title, header=("", *names), rows=rows)


def _table(
    title: str, rate: str, count: str, scores: Scores, cell: Callable[[Values], str]
) -> Table:
    """The sets for which `rate` was measured, each with how many labels it has."""
    counts: dict[str, float] = {}
    for cases in scores.values():
        counts |= {case: values[count] for case, values in cases.items() if rate in values}
    rows = [
        (
            f"{case} ({total:.0f})",
            *(_cell(cases.get(case), rate, cell) for cases in scores.values()),
        )
        for case, total in counts.items()
    ]
    return Table(title=title, header=("set (labels)", *scores), rows=tuple(rows))


def _with_mean(table: Table, scores: Scores) -> Table:
    """The table with the mean over the bars' sets below, if some reader has read them all."""
    complete = [all(case in cases for case in BAR_SETS) for cases in scores.values()]
    if not any(complete):
        return table
    means = (
        f"{sum(exact_rate(cases[case]) for case in BAR_SETS) / len(BAR_SETS):.3f}" if whole else "-"
        for cases, whole in zip(scores.values(), complete, strict=True)
    )
    title = f"{len(BAR_SETS)} sets of the bars, mean EM"
    return Table(title=table.title, header=table.header, rows=(*table.rows, (title, *means)))


def _cell(values: Values | None, rate: str, cell: Callable[[Values], str]) -> str:
    return cell(values) if values and rate in values else "-"


def _exact_and_errors(values: Values) -> str:
    return f"{values['EM']:.3f} / {values['CER']:.4f}"


def _recall(values: Values) -> str:
    return f"{values['line_recall']:.3f} / {values['length_ratio']:.2f}"
