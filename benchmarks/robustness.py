"""What `tierocr read` does with odd files, and how much memory it takes.

python -m benchmarks.robustness --data DIR [--peers DIR] [--out
benchmarks/results/robustness.json]

Reads every file of the `oddfiles` set in a process of its own (exit code, seconds, peak memory),
then all of them in one process (one bad file must lose nothing of the others), then 40 pages in
one process. With --peers, recall is held against RapidOCR's on the files that both can open.
Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import begin, build_result, variant_record
from benchmarks.options import conclude, parser_for, set_folders
from benchmarks.readers import OUR_PACKAGES, TIEROCR, make_reader
from benchmarks.schema import Measure, Verdict
from benchmarks.score import normalise

SET = "oddfiles"
PAGE_SETS = ("funsd_test", "sroie_train")
PAGES = 40
ONE_FILE_BYTES = 2e9
PAGES_BYTES = 700e6
LENGTH_RATIO = 1.3

REFUSED = {
    "ocrmypdf_invalid.pdf": "bad_image",
    "turbo_garbage_random.bin": "bad_image",
    "paperless_password-is-test.pdf": "encrypted",
    "turbo_password_protected.pdf": "encrypted",
}

WHAT = "Odd files read or refused with a code; peak resident memory of tierocr read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a process did: its exit code (negative: killed by a signal), wall seconds, peak
    bytes.
    """

    code: int
    seconds: float
    peak_bytes: int
    stderr: str


def run_read(files: Iterable[Path], out: Path) -> Ran:
    """`tierocr read FILES -f json -o OUT` in a process of its own."""
    command = [*TIEROCR, "read", *map(str, files), "-f", "json", "-o", str(out)]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        pid = os.posix_spawn(
            command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), 2)]
        )
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - started
        said.seek(0)
        stderr = said.read().decode(errors="replace")
    return Ran(
        code=os.waitstatus_to_exitcode(status),
        seconds=seconds,
        peak_bytes=usage.ru_maxrss * 1024,
        stderr=stderr,
    )


def recall(rows: Sequence[dict], folder: Path, only: set[str] | None = None) -> dict[str, float]:  # type: ignore[type-arg]
    """Labelled lines found anywhere on their page, and predicted over labelled characters."""
    found = wanted = predicted = labelled = 0
    for row in rows:
        name = Path(row["image"]).name
        texts = [normalise(line["text"], False) for line in row["lines"] if not line.get("ignore")]
        if not texts or (only is not None and name not in only):
            continue
        page = normalise("".join(_texts(folder / f"{name}.json")), False)
        found += sum(text in page for text in texts)
        wanted += len(texts)
        predicted += len(page)
        labelled += sum(map(len, texts))
    return {
        "lines": float(wanted),
        "line_recall": found / wanted,
        "length_ratio": predicted / labelled,
    }


def _texts(path: Path) -> list[str]:
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    return [line["text"] for page in document["pages"] for line in page["lines"]]


def measure_files(set_dir: Path, out: Path) -> tuple[list[Measure], list[Verdict]]:
    """Every odd file in its own process; a refused file must name its code."""
    runs = {path.name: run_read([path], out / "one") for path in _images(set_dir)}
    slowest = max(run.seconds for run in runs.values())
    largest = max(run.peak_bytes for run in runs.values())
    crashed = sum(run.code not in (0, 1) for run in runs.values())
    values = {
        "files": float(len(runs)),
        "read": float(sum(run.code == 0 for run in runs.values())),
        "refused": float(sum(run.code == 1 for run in runs.values())),
        "crashed": float(crashed),
        "slowest_seconds": slowest,
        "largest_peak_bytes": float(largest),
    }
    wrong = sum(code not in runs[name].stderr for name, code in REFUSED.items())
    verdicts = [
        _at_most("crashed files", crashed, 0),
        _at_most("refused with another code than the right one", wrong, 0),
        _at_most("peak bytes of one file", largest, ONE_FILE_BYTES),
    ]
    return [Measure(variant="edge-tiny", case="one file a process", values=values)], verdicts


def measure_together(set_dir: Path, out: Path) -> tuple[list[Measure], list[Verdict]]:
    """All odd files in one process: the same documents as one by one."""
    run = run_read(_images(set_dir), out / "all")
    alone = {path.name: _texts(path) for path in (out / "one").glob("*.json")}
    together = {path.name: _texts(path) for path in (out / "all").glob("*.json")}
    lost = sum(together.get(name) != texts for name, texts in alone.items())
    values = {
        "files": float(len(alone)),
        "differ_from_alone": float(lost),
        "peak_bytes": float(run.peak_bytes),
        "seconds": run.seconds,
    }
    measures = [Measure(variant="edge-tiny", case="all in one process", values=values)]
    return measures, [_at_most("files that differ from being read alone", lost, 0)]


def measure_pages(data: Path, out: Path) -> tuple[list[Measure], list[Verdict]]:
    """Forty pages in one process."""
    pages = [path for name in PAGE_SETS for path in _images(data / name)][:PAGES]
    run = run_read(pages, out / "pages")
    values = {"pages": float(len(pages)), "peak_bytes": float(run.peak_bytes)}
    verdict = _at_most(f"peak bytes of {len(pages)} pages", run.peak_bytes, PAGES_BYTES)
    return [Measure(variant="edge-tiny", case="40 pages in one process", values=values)], [verdict]


def measure_recall(
    set_dir: Path, out: Path, peers: Path | None, work: Path
) -> tuple[list[Measure], list[Verdict]]:
    """Recall of all files, and against the peer on the files that it can open, too."""
    rows = [json.loads(row) for row in (set_dir / "labels.jsonl").open(encoding="utf-8")]
    ours = recall(rows, out / "one")
    measures = [Measure(variant="edge-tiny", case="all files", values=ours)]
    verdicts = [_at_most("length ratio", ours["length_ratio"], LENGTH_RATIO)]
    if peers is None:
        return measures, verdicts
    folder = work / "rapidocr" / SET
    make_reader("rapidocr", peers).predict(set_dir, folder)
    both = {path.name.removesuffix(".json") for path in folder.glob("*.json")}
    for name, place in (("edge-tiny", out / "one"), ("rapidocr", folder)):
        values = recall(rows, place, both)
        measures.append(Measure(variant=name, case="files both open", values=values))
    ours_both, theirs = (m["values"]["line_recall"] for m in measures[-2:])
    verdicts.append(_at_most("peer's recall less ours", theirs - ours_both, 0.0))
    return measures, verdicts


def _images(set_dir: Path) -> list[Path]:
    return sorted(path for path in (set_dir / "images").iterdir() if path.is_file())


def _at_most(bar: str, value: float, limit: float) -> Verdict:
    return Verdict(
        variant="edge-tiny",
        peer="",
        case=SET,
        bar=bar,
        value=float(value),
        limit=float(limit),
        passed=value <= limit,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("robustness", __doc__)
    parser.add_argument("--peers", type=Path)
    options = parser.parse_args(argv)
    (set_dir, *_) = set_folders(options.data, [SET, *PAGE_SETS])
    start = begin(OUR_PACKAGES)
    out = options.work / "ours"
    parts = [
        measure_files(set_dir, out),
        measure_together(set_dir, out),
        measure_pages(options.data, out),
        measure_recall(set_dir, out, options.peers, options.work),
    ]
    measures = [measure for found, _ in parts for measure in found]
    verdicts = [verdict for _, found in parts for verdict in found]
    result = build_result(
        "robustness",
        WHAT,
        start=start,
        variants=[variant_record("edge-tiny", start, versions={}, parameters={})],
        measures=measures,
        verdicts=verdicts,
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
