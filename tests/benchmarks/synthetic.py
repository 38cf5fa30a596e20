"""A labelled set with known misreadings, made from a seed; the same on every Python."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

ALPHABET = "发票金额合计元ABCabc0123，。（）：“”.,:-"
Polygon = list[list[float]]


def write_set(set_dir: Path, predictions: Path, *, seed: int, pages: int = 6) -> None:
    """Write labels.jsonl and predictions: boxed, unboxed, empty and absent pages."""
    chance = random.Random(seed)
    set_dir.mkdir(parents=True)
    predictions.mkdir(parents=True)
    rows = []
    for n in range(pages):
        labels, lines = _page(chance)
        row: dict[str, Any] = {"image": f"images/p{n}.png", "lines": labels, "text": None}
        if n % 6 == 3:
            row["lines"] = [{"text": line["text"], "box": None} for line in labels]
            row["contains"] = [label["text"][:3] for label in labels[:4]]
        if n % 6 == 4:
            row |= {"lines": [], "text": ""}
            lines = lines[: seed % 2]
        rows.append(row)
        if n % 6 != 5:
            document = {"schema": "tierocr.document/1", "pages": [{"lines": lines}]}
            path = predictions / f"p{n}.png.json"
            path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf8")
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (set_dir / "labels.jsonl").write_text(text, encoding="utf8")


def _page(chance: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of two fields each, tilted; read apart or joined, with words or not, and junk."""
    angle = (chance.random() - 0.5) * 0.2
    labels: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for row in range(8):
        fields = []
        for column in range(2):
            text = _text(chance)
            box = _box(40 + 330 * column, 30 + 40 * row, 12 * len(text), 24, angle)
            labels.append({"text": text, "box": box, "ignore": chance.random() < 0.1})
            fields.append((_misread(text, chance), box))
        lines += _read(fields, chance)
    if chance.random() < 0.7:
        lines.append({"text": "junk 废", "polygon": _box(900, 900, 80, 20, 0.0)})
    return labels, lines


def _read(fields: list[tuple[str, Polygon]], chance: random.Random) -> list[dict[str, Any]]:
    how = int(chance.random() * 4)
    if how == 0:  # one line over both, whose characters must find their label
        (first, a), (second, b) = fields
        return [{"text": f"{first} {second}", "polygon": [a[0], b[1], b[2], a[3]]}]
    if how == 1:
        (first, a), (second, b) = fields
        words = [{"text": first, "polygon": a}, {"text": second, "polygon": b}]
        return [{"text": f"{first} {second}", "polygon": [a[0], b[1], b[2], a[3]], "words": words}]
    if how == 2:  # two halves, one above the other: they are put back in the label's order
        return [
            {"text": part, "polygon": _half(box, side)}
            for text, box in fields
            for side, part in enumerate((text[: len(text) // 2], text[len(text) // 2 :]))
        ]
    return [{"text": text, "polygon": box} for text, box in fields if text]


def _half(box: Polygon, side: int) -> Polygon:
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = box
    top, bottom = [(ax + bx) / 2, (ay + by) / 2], [(cx + dx) / 2, (cy + dy) / 2]
    return [box[0], top, bottom, box[3]] if side == 0 else [top, box[1], box[2], bottom]


def _text(chance: random.Random) -> str:
    length = 4 + int(chance.random() * 12)
    return "".join(ALPHABET[int(chance.random() * len(ALPHABET))] for _ in range(length))


def _misread(text: str, chance: random.Random) -> str:
    kept = [c for c in text if chance.random() > 0.04]
    return "".join("x" if chance.random() < 0.04 else c for c in kept)


def _box(x: float, y: float, width: float, height: float, angle: float) -> Polygon:
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    c, s = math.cos(angle), math.sin(angle)
    return [[round(px * c - py * s + 60, 2), round(px * s + py * c + 60, 2)] for px, py in corners]
