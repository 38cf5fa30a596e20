"""The one result format of all benchmarks, `tierocr.benchmark/1`: its types and its check.

`result.schema.json` beside this file is the contract. Results hold numbers and names of readers,
sets and packages: never label texts, never the names of machines or users, never absolute paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import jsonschema

from benchmarks.machine import Machine

SCHEMA = "tierocr.benchmark/1"
SCHEMA_PATH = Path(__file__).with_name("result.schema.json")

_ABSOLUTE = re.compile(r"(^|[\s=:'\"])(/[\w.~-]+/|~/|[A-Za-z]:\\|\\\\)")


class VariantRecord(TypedDict):
    """One of the things compared, how it was set (`parameters`) and when it was measured."""

    name: str
    versions: dict[str, str]
    parameters: dict[str, Any]
    date: str
    revision: str


class Measure(TypedDict):
    """What was found for one variant on one case (a set, a workload); names hold the units."""

    variant: str
    case: str
    values: dict[str, float]


class Ratio(TypedDict):
    """`of` over `to`, pair by pair: the median and an interval that holds it with `coverage`."""

    of: str
    to: str
    case: str
    quantity: str
    median: float
    low: float
    high: float
    coverage: float
    pairs: int


class Verdict(TypedDict):
    """Whether a variant keeps a bar on a case; `peer` is empty where the bar is a fixed number."""

    bar: str
    variant: str
    peer: str
    case: str
    value: float
    limit: float
    passed: bool


class Result(TypedDict):
    """A benchmark's result, as stored in `results/NAME.json`."""

    schema: str
    name: str
    what: str
    date: str
    revision: str
    machine: Machine
    variants: list[VariantRecord]
    measures: list[Measure]
    ratios: list[Ratio]
    verdicts: list[Verdict]


def check_result(result: Result) -> None:
    """Raise ValueError where `result` breaks the contract or holds an absolute path."""
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    try:
        jsonschema.validate(result, schema)
    except jsonschema.ValidationError as error:
        raise ValueError(f"not a {SCHEMA} result: {error.message} at {error.json_path}") from error
    for text in _strings(result):
        if _ABSOLUTE.search(text):
            raise ValueError(f"a result must not hold an absolute path: {text!r}")


def _strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
