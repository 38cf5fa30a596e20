"""`tierocr demo`: both tiers on this machine, shown on the sample pages.

Starts a cloud as a process of its own on loopback, reads every sample page with the edge, has
the unsure lines refined over HTTP, prints what happened and draws it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import cv2
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tierocr.edge.annotating import annotate
from tierocr.edge.matching import match_truth
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.samples import TruthPage, load_truth, sample_pages
from tierocr.edge.tiering import Refinement, TieredDocument, TieredReader
from tierocr.shared.document import CLOUD, Matrix3, Page
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.pictures import upright
from tierocr.shared.geometry import bounds, compose, rectangle, transform_quad
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.tune import open_tuned

START_SECONDS = 120.0
"""How long the cloud may take to load and warm its models."""


async def run_demo(output: Path, *, cloud_pack: str, console: Console) -> None:
    """Read all sample pages in two tiers. Raises TierocrError when a tier cannot be started."""
    console.print("Starting a cloud on this machine …")
    async with local_cloud(cloud_pack) as url:
        console.print(f"The cloud listens on {url}; the edge reads with edge-tiny.\n")
        async with Refiner(CloudAddress(url=url, device="demo", deadline=30.0)) as refiner:
            tiered = TieredReader(open_tuned("edge-tiny"), refiner)
            try:
                rows = [await _sample(tiered, name, output, console) for name in _names()]
            finally:
                tiered.close()
    console.print(_summary(rows))
    console.print(f"Annotated pages: {output}/")


def _names() -> list[str]:
    return [page.name for page in sample_pages()]


async def _sample(
    tiered: TieredReader, name: str, output: Path, console: Console
) -> tuple[str, list[int]]:
    """Read and show one sample; its name and (lines, sent, bytes, changed, edge, tiered) counts."""
    (source,) = (page for page in sample_pages() if page.name == name)
    data = source.read_bytes()
    started = time.perf_counter()
    result = await tiered.read(data, name)
    seconds = time.perf_counter() - started
    truth = load_truth(name)
    totals = [0] * 6
    console.rule(name)
    for edge, refined, known in zip(
        result.edge_pages, result.refinements, truth.pages, strict=True
    ):
        counts = _show_page(edge, refined, known, console)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
    times = ", ".join(f"{k} {v:.2f}" for k, v in result.document.timings.items())
    console.print(f"[dim]{seconds:.2f} s in all; edge stages in seconds: {times}[/]")
    for failure in result.document.errors:
        console.print(f"[red]{failure.code}: {escape(failure.message)}[/]")
    _draw(data, name, result, output)
    return name, totals


def _show_page(edge: Page, refined: Refinement, known: TruthPage, console: Console) -> list[int]:
    """Print a page's lines and what the cloud changed; the counts of `_sample`."""
    transform = _to_truth(edge, known)
    before = match_truth(edge.lines, known.lines, transform)
    after = match_truth(refined.page.lines, known.lines, transform)
    for line in refined.page.lines:
        mark = {CLOUD: "[blue]cloud[/]"}.get(line.source, "[green]edge [/]")
        console.print(f"  {mark} {line.confidence:.2f}  {escape(line.text)}")
    kib = refined.sent_bytes / 1024
    console.print(
        f"page {edge.index + 1}: {len(edge.lines)} lines, {refined.sent_lines} sent "
        f"({kib:.1f} KiB), {refined.changed} changed by the cloud; "
        f"exact: edge {before.exact} -> tiered {after.exact} of {len(known.lines)}"
    )
    for old, new in zip(edge.lines, refined.page.lines, strict=True):
        if old.text != new.text:
            truth = after.truth_of(new)
            verdict = _verdict(old.text, new.text, truth)
            console.print(f"    {verdict} {escape(old.text)}  ->  [bold]{escape(new.text)}[/]")
    return [
        len(edge.lines),
        refined.sent_lines,
        refined.sent_bytes,
        refined.changed,
        before.exact,
        after.exact,
    ]


def _to_truth(page: Page, known: TruthPage) -> Matrix3:
    """Page pixels -> the truth's frame: stored pixels, or the rendering of a PDF page.

    A PDF's stored frame is in points, so its size differs from the truth's.
    """
    corners = transform_quad(page.transform, rectangle(0, 0, page.width, page.height))
    _, _, width, height = bounds(corners)
    scale = ((known.width / width, 0.0, 0.0), (0.0, known.height / height, 0.0), (0.0, 0.0, 1.0))
    return compose(scale, page.transform)


def _verdict(old: str, new: str, truth: str | None) -> str:
    if truth is None:
        return "[dim]?[/]"
    right = "".join(truth.split())
    if "".join(new.split()) == right:
        return "[green]✓[/]"
    return "[red]✗[/]" if "".join(old.split()) == right else "[yellow]~[/]"


def _draw(data: bytes, name: str, result: TieredDocument, output: Path) -> None:
    """Write one annotated PNG per page. Raises TierocrError `output_failed`."""
    for image, page in zip(decode_pages(data, limits=Limits()), result.document.pages, strict=True):
        if isinstance(image, PageFailure):
            continue
        drawn = annotate(upright(image, page), page)
        ok, encoded = cv2.imencode(".png", drawn)
        suffix = f".{page.index + 1}" if len(result.document.pages) > 1 else ""
        target = output / f"{name}{suffix}.png"
        try:
            output.mkdir(parents=True, exist_ok=True)
            target.write_bytes(encoded.tobytes() if ok else b"")
        except OSError as error:
            raise TierocrError("output_failed", f"cannot write {target}: {error}") from error


def _summary(rows: Sequence[tuple[str, list[int]]]) -> Table:
    table = Table("sample", "lines", "sent", "KiB", "changed", "edge exact", "tiered exact")
    totals = [sum(column) for column in zip(*(counts for _, counts in rows), strict=True)]
    for name, counts in [*rows, ("all", totals)]:
        lines, sent, size, changed, before, after = counts
        table.add_row(
            name, str(lines), str(sent), f"{size / 1024:.1f}", str(changed), str(before), str(after)
        )
    return table


@contextlib.asynccontextmanager
async def local_cloud(pack: str) -> AsyncIterator[str]:
    """A cloud process on a free port of loopback; stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="tierocr-demo-") as scratch:
        port_file = Path(scratch) / "port"
        log = Path(scratch) / "log"
        command = [sys.executable, "-m", "tierocr.cloud", "--host", "127.0.0.1", "--port", "0"]
        command += ["--allow-anonymous", "--pack", pack, "--port-file", str(port_file)]
        with log.open("wb") as sink:
            process = await asyncio.create_subprocess_exec(*command, stdout=sink, stderr=sink)
        try:
            yield f"http://127.0.0.1:{await _port(process, port_file, log)}"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _port(process: asyncio.subprocess.Process, port_file: Path, log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.returncode is None:
        if written := _content(port_file):
            return int(written)
        await asyncio.sleep(0.1)
    said = _content(log).strip().splitlines()[-3:]
    raise TierocrError("unavailable", "the cloud did not start: " + " / ".join(said))


def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
