"""Score predicted documents against labelled pages.

    python -m benchmarks.score DATA_DIR/SET PREDICTIONS_DIR [--json]

PREDICTIONS_DIR holds one `tierocr.document/1` JSON per image, named like the image with `.json`
added (`zh_val_0.jpg.json`). Read from it: pages[].lines[].text and .polygon (TL, TR, BR, BL in
pixels of the upright page), and the polygons of words[] and words[].chars[] where present.

Where a set has boxes, scoring is *anchored*: each predicted character goes to the labelled box that
holds its centre, so a reader that joins or splits lines otherwise than the labels do is not
punished for it. Per set: EM (share of labels read exactly), CER (edits over label characters),
missed (labels with nothing in them), extra (characters outside every label, over label characters).
Where a set has no boxes: recall of the labelled lines anywhere on the page, `contains` recall,
pages that should be empty and are, and length_ratio (predicted over labelled characters: recall
bought with junk shows here, as extra_rate shows it above).
Texts are compared after NFKC, with full- and half-width punctuation folded and white space dropped.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from benchmarks.anchoring import Label, Piece, Placed, axes, label_of, owner, place_characters

FOLD = str.maketrans(
    "，。、：；（）【】！？“”‘’—–－～·•￥…「」《》〈〉",
    ',.,:;()[]!?""\'\'---~..¥.""<><>',
)
IGNORE_CASE = {"sroie_train", "svt_word_crops", "cute80_eye"}


@dataclass(slots=True)
class _Run:
    """Consecutive characters of one line that fall into the same label (None: outside all)."""

    label: int | None
    characters: list[Placed]


def normalise(text: str, ignore_case: bool) -> str:
    """The form in which texts are compared."""
    folded = unicodedata.normalize("NFKC", text).translate(FOLD)
    bare = re.sub(r"\s+", "", folded)
    return bare.lower() if ignore_case else bare


def score_set(set_dir: Path, predictions: Path) -> dict[str, Any]:
    """The scores of one set: counts, and the rates made of them."""
    ignore_case, absent = set_dir.name in IGNORE_CASE, 0
    sums: Counter[str] = Counter()
    with (set_dir / "labels.jsonl").open(encoding="utf8") as rows:
        for row in map(json.loads, rows):
            path = predictions / (Path(row["image"]).name + ".json")
            absent += not path.exists()
            lines = _predicted_lines(path) if path.exists() else []
            fold = ignore_case or row.get("case_insensitive", False)
            if any(line.get("box") for line in row["lines"]):
                sums.update(score_anchored(row["lines"], lines, fold))
            else:
                sums.update(score_unboxed(row, lines, fold))
    return {"set": set_dir.name, "absent": absent, **sums, **_rates(sums)}


def score_anchored(
    labelled: list[dict[str, Any]], lines: list[dict[str, Any]], ignore_case: bool
) -> dict[str, int]:
    """Counts for one page whose labels have boxes."""
    labels = [label_of(line) for line in labelled if line.get("box")]
    order = sorted(range(len(labels)), key=lambda i: labels[i].area)
    extra = 0
    for line in lines:
        runs = _runs(line, labels, order)
        _move_borders(runs, labels, ignore_case)
        extra += _hand_out(runs, line, labels)
    counts = {"labels": 0, "exact": 0, "edits": 0, "chars": 0, "missed": 0, "extra": extra}
    for label in labels:
        want, got = normalise(label.text, ignore_case), normalise(_text_in(label), ignore_case)
        if label.ignore or not want:
            continue
        counts["labels"] += 1
        counts["exact"] += got == want
        counts["missed"] += not got
        counts["edits"] += min(Levenshtein.distance(got, want), len(want) * 2)
        counts["chars"] += len(want)
    return counts


def score_unboxed(
    row: dict[str, Any], lines: list[dict[str, Any]], ignore_case: bool
) -> dict[str, int]:
    """Counts for one page without boxes."""
    page = normalise("".join(line["text"] for line in lines), ignore_case)
    texts = [line["text"] for line in row["lines"] if not line.get("ignore")]
    wanted = [want for text in texts if (want := normalise(text, ignore_case))]
    parts = [normalise(part, ignore_case) for part in row.get("contains") or []]
    counts = {
        "lines": len(wanted),
        "found": sum(want in page for want in wanted),
        "contains": len(parts),
        "contained": sum(part in page for part in parts),
    }
    if wanted:
        counts |= {"predicted_chars": len(page), "labelled_chars": sum(map(len, wanted))}
    if row.get("text") == "" and not wanted:
        counts |= {"empty_pages": 1, "empty_right": int(not page)}
    return counts


def _predicted_lines(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf8"))
    return [line for page in document.get("pages") or [] for line in page.get("lines") or []]


def _rates(sums: Counter[str]) -> dict[str, float]:
    """The rates of a set, rounded as they are reported."""
    rates: dict[str, float] = {}
    if sums["labels"]:
        rates |= {
            "EM": round(sums["exact"] / sums["labels"], 4),
            "CER": round(sums["edits"] / sums["chars"], 4),
            "missed_rate": round(sums["missed"] / sums["labels"], 4),
            "extra_rate": round(sums["extra"] / sums["chars"], 4),
        }
    if sums["lines"]:
        rates |= {
            "line_recall": round(sums["found"] / sums["lines"], 4),
            "length_ratio": round(sums["predicted_chars"] / sums["labelled_chars"], 2),
        }
    return rates


def _runs(line: dict[str, Any], labels: list[Label], order: list[int]) -> list[_Run]:
    runs: list[_Run] = []
    for placed in place_characters(line):
        hit = owner(labels, order, placed.x, placed.y)
        if runs and runs[-1].label == hit:
            runs[-1].characters.append(placed)
        else:
            runs.append(_Run(hit, [placed]))
    return runs


def _move_borders(runs: list[_Run], labels: list[Label], ignore_case: bool) -> None:
    """Move borders between two labels, by four characters at most, to where the texts fit."""
    for a, b in zip(runs, runs[1:], strict=False):
        if a.label is None or b.label is None:
            continue
        before = normalise(labels[a.label].text, ignore_case)
        after = normalise(labels[b.label].text, ignore_case)
        both, cut = a.characters + b.characters, len(a.characters)
        best = _best_cut([placed.text for placed in both], cut, before, after, ignore_case)
        a.characters, b.characters = both[:best], both[best:]


def _best_cut(flat: list[str], cut: int, before: str, after: str, ignore_case: bool) -> int:
    def misfit(k: int) -> tuple[int, int]:
        head = normalise("".join(flat[:k])[-len(before) - 4 :], ignore_case)
        tail = normalise("".join(flat[k:])[: len(after) + 4], ignore_case)
        edits = Levenshtein.distance(head, before) + Levenshtein.distance(tail, after)
        return edits, abs(k - cut)

    return min(range(max(0, cut - 4), min(len(flat), cut + 4) + 1), key=misfit)


def _hand_out(runs: list[_Run], line: dict[str, Any], labels: list[Label]) -> int:
    """Give each run to its label; how many characters lie outside all labels."""
    (ax, ay), _, _, (dx, dy) = line["polygon"]
    thick, extra = math.hypot(dx - ax, dy - ay), 0
    for run in runs:
        characters = run.characters
        if run.label is None:
            extra += len(characters)
        elif characters:
            x = sum(placed.x for placed in characters) / len(characters)
            y = sum(placed.y for placed in characters) / len(characters)
            along, across = axes(labels[run.label].box, x, y)
            text = "".join(placed.text for placed in characters)
            labels[run.label].pieces.append(Piece(across, thick, along, text))
    return extra


def _text_in(label: Label) -> str:
    """What was read in a label: its pieces, row by row."""
    rows: list[list[Piece]] = []
    for piece in sorted(label.pieces):
        # one row while the centre stays within half a line of the row's first piece
        first = rows[-1][0] if rows else None
        if first and piece.across - first.across < 0.5 * min(piece.thick, first.thick):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return "".join(
        piece.text for row in rows for piece in sorted(row, key=lambda piece: piece.along)
    )


def main(argv: list[str] | None = None) -> None:
    """The command: score one set and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set_dir", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    scores = score_set(options.set_dir, options.predictions)
    if options.json:
        print(json.dumps(scores, ensure_ascii=False))
    else:
        print("  ".join(f"{key}={value}" for key, value in scores.items()))


if __name__ == "__main__":
    main()
