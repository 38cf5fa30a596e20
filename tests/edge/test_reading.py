"""The loop over inputs: order, bound, failures that stay alone; text rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fakes.lines import read_line
from tests.fakes.painted import png
from tests.fakes.rows import page, rows_reader
from tierocr.edge.inputs import Input
from tierocr.edge.reading import IN_FLIGHT, Outcome, read_inputs, with_rules
from tierocr.edge.tiering import TieredDocument, TieredReader
from tierocr.shared.document import Document, EngineInfo, Failure, Page
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits


class Counting(TieredReader):
    """Finishes in any order, and counts how many inputs it holds."""

    def __init__(self, delays: dict[str, float]) -> None:
        super().__init__(rows_reader())
        self.delays, self.held, self.most, self.begun = delays, 0, 0, 0

    async def read(self, data: bytes, name: str) -> TieredDocument:
        self.held, self.begun = self.held + 1, self.begun + 1
        self.most = max(self.most, self.held)
        try:
            await asyncio.sleep(self.delays.get(name, 0.0))
            return await super().read(data, name)
        finally:
            self.held -= 1


def files(folder: Path, texts: Sequence[str]) -> list[Input]:
    made = []
    for text in texts:
        path = folder / f"{text}.png"
        path.write_bytes(png(page(text)))
        made.append(Input(path=path, name=path.name))
    return made


async def outcomes(
    reader: TieredReader, inputs: Sequence[Input], limits: Limits | None = None
) -> list[Outcome]:
    try:
        return [o async for o in read_inputs(reader, inputs, limits or Limits())]
    finally:
        reader.close()


def text_of(outcome: Outcome) -> str | None:
    if outcome.result is None:
        return None
    return " ".join(line.text for p in outcome.result.document.pages for line in p.lines)


async def test_the_order_of_the_inputs_is_kept_and_few_are_in_flight(tmp_path: Path) -> None:
    texts = ["alpha", "beta", "gamma", "delta", "eta", "zeta"]
    reader = Counting({"alpha.png": 0.2, "gamma.png": 0.1})
    done = await outcomes(reader, files(tmp_path, texts))
    assert [text_of(o) for o in done] == texts
    assert [o.source.name for o in done] == [f"{t}.png" for t in texts]
    assert not any(o.failed for o in done)
    assert reader.most == IN_FLIGHT


async def test_one_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    inputs = files(tmp_path, ["alpha", "beta", "gamma", "delta"])
    (tmp_path / "alpha.png").unlink()
    (tmp_path / "gamma.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    done = await outcomes(TieredReader(rows_reader()), inputs)
    assert [text_of(o) for o in done] == [None, "beta", "", "delta"]
    assert [o.failed for o in done] == [True, False, True, False]
    assert done[0].failure is not None and done[0].failure.code == "not_found"
    assert done[2].result is not None and done[2].result.document.status == "failed"


async def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    inputs = files(tmp_path, ["alpha"])
    size = (tmp_path / "alpha.png").stat().st_size
    (at,) = await outcomes(TieredReader(rows_reader()), inputs, Limits(max_bytes=size))
    assert not at.failed
    (over,) = await outcomes(TieredReader(rows_reader()), inputs, Limits(max_bytes=size - 1))
    assert over.failure is not None and over.failure.code == "too_large"


async def test_no_inputs() -> None:
    assert await outcomes(TieredReader(rows_reader()), []) == []


async def test_a_failing_engine_stops_everything(tmp_path: Path) -> None:
    def broken() -> None:
        raise TierocrError("internal", "the device fell over")

    with pytest.raises(TierocrError, match="internal"):
        await outcomes(TieredReader(rows_reader(broken)), files(tmp_path, ["alpha", "beta"]))


async def test_who_stops_early_leaves_nothing_behind(tmp_path: Path) -> None:
    reader = Counting({"beta.png": 60.0, "gamma.png": 60.0})
    inputs = files(tmp_path, ["alpha", "beta", "gamma", "delta"])
    running = read_inputs(reader, inputs, Limits())
    async for outcome in running:
        assert text_of(outcome) == "alpha"
        break
    await running.aclose()  # type: ignore[attr-defined]
    assert reader.held == 0
    reader.close()


def document(*texts: str) -> Document:
    engine = EngineInfo(pack="fake", precision="f32", runtime="fake 1.0 CPU")
    lines = tuple(read_line(text) for text in texts)
    return Document(
        id="sha256-0",
        name="a.png",
        sha256="0" * 64,
        status="final",
        engine=engine,
        pages=(Page(index=0, width=10, height=10, lines=lines),),
    )


def test_rules_keep_what_was_read() -> None:
    (line, same) = with_rules(document("ＡＢＣ１２", "plain"), ["widths"]).pages[0].lines
    assert (line.text, line.text_raw) == ("ABC12", "ＡＢＣ１２")
    assert (same.text, same.text_raw) == ("plain", None)


def test_without_rules_nothing_changes() -> None:
    before = document("ＡＢＣ１２")
    assert with_rules(before, []) is before


@pytest.mark.parametrize(
    ("status", "page_error", "failed"),
    [
        ("final", None, False),
        ("failed", None, True),
        ("final", Failure(code="bad_image", message="torn"), True),
    ],
)
def test_an_outcome_fails_with_its_file_or_a_page(
    status: str, page_error: Failure | None, failed: bool
) -> None:
    made = document("x")
    made = Document(
        id=made.id,
        name=made.name,
        sha256=made.sha256,
        status=status,
        engine=made.engine,
        pages=(*made.pages, Page(index=1, width=0, height=0, error=page_error)),
    )
    result = TieredDocument(document=made, edge_pages=(), refinements=())
    assert Outcome(source=Input(path=None, name="x"), result=result).failed == failed
