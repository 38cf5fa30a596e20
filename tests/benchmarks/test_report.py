from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bars import BAR_SETS
from benchmarks.harness import Start, build_result, write_result
from benchmarks.machine import fingerprint
from benchmarks.report import main, rewrite
from benchmarks.schema import Measure, Result
from benchmarks.tables import accuracy_tables

OPEN, CLOSE = "<!-- benchmark:accuracy -->", "<!-- /benchmark -->"
PROSE = st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"]), max_size=30)


def boxed(variant: str, case: str, exact: int) -> Measure:
    values = {"labels": 100, "exact": exact, "EM": exact / 100, "CER": 0.0123}
    return Measure(variant=variant, case=case, values={k: float(v) for k, v in values.items()})


def accuracy_result(measures: list[Measure]) -> Result:
    start = Start(date="2026-01-02T03:04:05Z", revision="abcdef0123" * 4, machine=fingerprint())
    return build_result("accuracy", "what", start=start, variants=[], measures=measures)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    unboxed = {"lines": 40.0, "line_recall": 0.875, "length_ratio": 0.98}
    measures = [
        boxed("edge-tiny", "mtwi_zh", 75),
        Measure(variant="edge-tiny", case="zh_docs_eye", values=unboxed),
        boxed("rapidocr", "mtwi_zh", 60),
    ]
    write_result(accuracy_result(measures), tmp_path / "accuracy.json")
    path = tmp_path / "README.md"
    path.write_text(f"# Title\n\n{OPEN}\nold\n{CLOSE}\n\nafter\n", encoding="utf-8")
    return path


def run(page: Path, *arguments: str) -> int:
    return main([str(page), "--results", str(page.parent), *arguments])


def test_numbers_are_written_between_the_markers(page: Path) -> None:
    assert run(page) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{OPEN}\nEM / CER:\n")
    assert text.endswith(f"{CLOSE}\n\nafter\n")
    assert "| set (labels) | edge-tiny | rapidocr |\n| --- | ---: | ---: |\n" in text
    assert "| mtwi_zh (100) | 0.750 / 0.0123 | 0.600 / 0.0123 |" in text
    assert "| zh_docs_eye (40) | 0.875 / 0.98 | - |" in text
    assert "Measured 2026-01-02 at revision abcdef0123, " in text and "old" not in text


def test_check_says_whether_the_file_is_up_to_date(page: Path) -> None:
    before = page.read_bytes()
    assert run(page, "--check") == 1
    assert page.read_bytes() == before
    run(page)
    assert run(page, "--check") == 0


def test_a_missing_result_or_an_unknown_name_is_an_error(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.write_text(f"<!-- benchmark:nothing -->\n{CLOSE}\n", encoding="utf-8")
    assert run(page) == 2
    page.write_text(f"{OPEN}\n{CLOSE}\n", encoding="utf-8")
    (page.parent / "accuracy.json").unlink()
    assert run(page) == 2
    errors = capsys.readouterr().err
    assert "no table" in errors and "run the benchmark first" in errors


@given(st.lists(PROSE, min_size=1, max_size=4), st.text(alphabet="ab |\n", max_size=20))
def test_only_what_stands_between_markers_changes(parts: list[str], body: str) -> None:
    text = f"{OPEN}x{CLOSE}".join(parts)
    once = rewrite(text, lambda name: body)
    assert rewrite(once, lambda name: body) == once
    assert once == f"{OPEN}\n{body.strip(chr(10))}\n{CLOSE}".join(parts)


@pytest.mark.parametrize(
    "text", [OPEN, f"{OPEN} {OPEN} {CLOSE}", CLOSE, f"{OPEN} {CLOSE} {CLOSE}", f"{CLOSE} {OPEN}"]
)
def test_stray_markers_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="marker|not closed"):
        rewrite(text, lambda name: "")


def test_the_mean_stands_below_when_all_sets_were_read() -> None:
    measures = [boxed("edge-tiny", case, 60 + 10 * (n % 2)) for n, case in enumerate(BAR_SETS)]
    (table,) = accuracy_tables(accuracy_result([*measures, boxed("rapidocr", BAR_SETS[0], 50)]))
    assert table.rows[-1] == ("6 sets of the bars, mean EM", "0.650", "-")
