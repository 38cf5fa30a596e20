from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from tierocr.shared.errors import ERROR_CODES, ErrorCode, TierocrError

ROOT = Path(__file__).parents[2]


def codes_in_sources() -> dict[str, str]:
    """Every literal code given to an error or a failure, and the file it stands in."""
    found = {}
    for part in ("edge", "cloud", "shared"):
        for path in (ROOT / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                given = [k.value for k in node.keywords if k.arg == "code"]
                if name == "TierocrError":
                    given += node.args[:1]
                elif name != "Failure":
                    continue
                for value in given:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        found[value.value] = str(path.relative_to(ROOT))
    return found


def test_each_code_stands_once_under_its_own_name() -> None:
    assert all(name == row.name for name, row in ERROR_CODES.items())
    meanings = [row.meaning for row in ERROR_CODES.values()]
    assert len(set(meanings)) == len(meanings)


@pytest.mark.parametrize("row", ERROR_CODES.values(), ids=lambda row: row.name)
def test_each_row_is_fit_to_be_shown(row: ErrorCode) -> None:
    assert row.name.isascii() and row.name.replace("_", "").isalpha() and row.name.islower()
    assert 400 <= row.status < 600
    assert row.meaning.endswith(".")


def test_the_sources_use_codes_of_the_table_only() -> None:
    used = codes_in_sources()
    assert len(used) > 10, "the search finds nothing any more"
    assert {code: file for code, file in used.items() if code not in ERROR_CODES} == {}


def test_a_misspelt_code_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        TierocrError("bad_imgae", "never mind")


@pytest.mark.parametrize("code", sorted(ERROR_CODES))
def test_an_error_knows_its_row(code: str) -> None:
    error = TierocrError(code, "the reason: ümläut 中")
    assert (error.code, error.message) == (code, "the reason: ümläut 中")
    assert error.retryable == ERROR_CODES[code].retryable
    assert str(error) == f"{code}: the reason: ümläut 中"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_a_process_border(protocol: int) -> None:
    back = pickle.loads(pickle.dumps(TierocrError("too_large", "9 pages"), protocol))
    assert type(back) is TierocrError
    assert (back.code, back.message, str(back)) == ("too_large", "9 pages", "too_large: 9 pages")
