"""The commands `tierocr read` and `tierocr demo`: options in, files and exit codes out.

Only what a command line needs; the work is done by `reading`, `tiering` and `demo`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierocr.edge.addresses import is_web_address
from tierocr.edge.inputs import STDIN, Input, expand, output_paths
from tierocr.edge.outputs import write_whole
from tierocr.edge.reading import Outcome, load, page_images, read_inputs, with_rules
from tierocr.edge.routing import RoutingPolicy
from tierocr.edge.tiering import ReadOptions, TieredReader
from tierocr.shared.document import FAILED, Document
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import ALL_NAMES, FORMATS, PICTURE_FORMATS, Format, PictureFormat
from tierocr.shared.images import Limits
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.tune import AUTO, open_tuned
from tierocr.shared.text.rules import NAMES, check_names

if TYPE_CHECKING:
    from tierocr.edge.refining import CloudAddress, Refiner

URL_VARIABLE = "TIEROCR_CLOUD__URL"
TOKEN_VARIABLE = "TIEROCR_CLOUD__TOKEN"
_DEFAULT = RoutingPolicy()

Files = Annotated[list[str], typer.Argument(help="Files, folders, patterns, or - for stdin.")]


def read(
    files: Files,
    output_format: Annotated[
        str,
        typer.Option("--format", "-f", help=f"One of: {', '.join(ALL_NAMES)}."),
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for one result file per input.")
    ] = None,
    cloud: Annotated[
        str | None,
        typer.Option(envvar=URL_VARIABLE, help="Have unsure lines read again by this service."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Send nothing, whatever else is set.")
    ] = False,
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with the service's token (or {TOKEN_VARIABLE}).")
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="PEM file: believe a service of these authorities only.")
    ] = None,
    client_certificate: Annotated[
        Path | None, typer.Option(help="PEM file: what is shown to a service that asks for one.")
    ] = None,
    client_key: Annotated[
        Path | None, typer.Option(help="PEM file: its key, where it is not in the same file.")
    ] = None,
    deadline: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a page may wait for the cloud.")
    ] = 10.0,
    threshold: Annotated[
        float,
        typer.Option(min=0, max=1, help="A line is unsure if its weakest character is under it."),
    ] = _DEFAULT.threshold,
    max_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of lines to send in the long run.")
    ] = _DEFAULT.max_share,
    bytes_per_page: Annotated[
        int, typer.Option(min=0, help="Bytes of crops per page in the long run.")
    ] = _DEFAULT.bytes_per_page,
    privacy: Annotated[
        Path | None,
        typer.Option(help="Settings file whose section `privacy` says what never leaves."),
    ] = None,
    pack: Annotated[str, typer.Option(help="Model pack that reads here.")] = "edge-tiny",
    runtime: Annotated[str, typer.Option(help="openvino or onnxruntime.")] = "openvino",
    precision: Annotated[
        str, typer.Option(help="f32, bf16, f16, int8, or auto: what doctor --tune found best.")
    ] = AUTO,
    text_layer: Annotated[
        bool, typer.Option("--text-layer", help="Use a PDF's own text where it has some.")
    ] = False,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rule", help=f"Text rule: {', '.join(NAMES)}."),
    ] = None,
    max_pages: Annotated[int, typer.Option(min=1, help="Refuse files with more pages.")] = 1000,
) -> None:
    """Read documents: text to standard output, or one file per input with -o.

    Exit code 0: everything was read. 1: some input failed; it is named on standard error and the
    rest is delivered. 2: the command line or the configuration is wrong; nothing was read.
    """
    chosen = _format(output_format, files)
    check_names(rules or [])  # an unknown rule is found before anything is read
    inputs = expand(files)
    targets = output_paths(inputs, output, chosen.ending) if output is not None else None
    job = _Job(
        inputs=inputs,
        targets=targets,
        format=chosen,
        rules=rules or [],
        limits=Limits(max_pages=max_pages),
    )
    address = _address(None if offline else cloud, token_file, deadline)
    if address is not None:
        address = _with_tls(address, ca_file, client_certificate, client_key)
    options = ReadOptions(
        limits=job.limits,
        text_layer=text_layer,
        policy=RoutingPolicy(
            threshold=threshold, max_share=max_share, bytes_per_page=bytes_per_page
        ),
    )
    if privacy is not None:
        options = _guarded(options, privacy)
    reader = open_tuned(pack, runtime=runtime, precision=precision)
    failed = asyncio.run(_run(job, reader=reader, address=address, options=options))
    raise typer.Exit(1 if failed else 0)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the annotated pages.")
    ] = Path("tierocr-demo"),
    pack: Annotated[str, typer.Option(help="Pack of the demo's cloud.")] = "cloud-small",
) -> None:
    """Start a cloud on this machine, read the sample pages in two tiers, show what it changed."""
    from rich.console import Console

    from tierocr.edge.demo import run_demo

    asyncio.run(run_demo(output, cloud_pack=pack, console=Console()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    inputs: list[Input]
    targets: dict[str, Path] | None
    format: Format | PictureFormat
    rules: list[str]
    limits: Limits


async def _run(
    job: _Job, *, reader: Reader, address: CloudAddress | None, options: ReadOptions
) -> bool:
    """Read and deliver everything; True when something failed."""
    failed = False
    async with contextlib.AsyncExitStack() as stack:
        refiner = await stack.enter_async_context(_refiner(address)) if address else None
        tiered = TieredReader(reader, refiner, options)
        stack.callback(tiered.close)
        with _progress(len(job.inputs)) as advance:
            async for outcome in read_inputs(tiered, job.inputs, job.limits):
                failed |= _deliver(outcome, job)
                advance()
    return failed


def _refiner(address: CloudAddress) -> Refiner:
    """An HTTP client is loaded only by those who use one: it costs start-up time and memory."""
    from tierocr.edge.refining import Refiner

    return Refiner(address)


def _deliver(outcome: Outcome, job: _Job) -> bool:
    """Write one result and name its failures on standard error; True when something failed."""
    name = outcome.source.name
    if outcome.result is None:
        assert outcome.failure is not None
        _complain(f"{name}: {outcome.failure.code}: {outcome.failure.message}")
        return True
    document = with_rules(outcome.result.document, job.rules)
    for failure in document.errors:
        _complain(f"{name}: {failure.code}: {failure.message}")
    if document.status == FAILED and job.format.name != "json":
        return (
            True  # only JSON can say so in the result; an empty text would look like a blank page
        )
    try:
        content = _content(document, outcome.source, job)
        if job.targets is not None:
            write_whole(job.targets[name], content)
        else:
            _print(content)
    except TierocrError as error:
        _complain(f"{name}: {error}")
        return True
    return outcome.failed


def _content(document: Document, source: Input, job: _Job) -> bytes:
    """The document in the format that was asked for. Raises TierocrError for a format that shows
    the pages, when the file is no longer there.
    """
    if isinstance(job.format, Format):
        # a file name that is no text has lone surrogates: escaped, as JSON would
        return job.format.export(document).encode(errors="backslashreplace")
    return job.format.export(document, page_images(load(source, job.limits), job.limits))


def _print(content: bytes) -> None:
    """Standard output is UTF-8, whatever the locale says. Raises TierocrError `output_failed`."""
    try:
        sys.stdout.buffer.write(content if content.endswith(b"\n") else content + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # nobody listens any more: the command line ends quietly
    except OSError as error:
        # what stays in the buffer would fail once more when the process ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise TierocrError("output_failed", f"cannot write to standard output: {error}") from error


def _complain(message: str) -> None:
    print(f"tierocr: {message}", file=sys.stderr)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, nothing in a pipe or for a single input."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def _format(name: str, inputs: Sequence[str]) -> Format | PictureFormat:
    if name in FORMATS:
        return FORMATS[name]
    if name not in PICTURE_FORMATS:
        known = ", ".join(ALL_NAMES)
        raise TierocrError("config_invalid", f"unknown format {name!r}; known: {known}")
    if STDIN in inputs:
        raise TierocrError("config_invalid", f"{name} is made from a file, not from standard input")
    return PICTURE_FORMATS[name]


def _address(url: str | None, token_file: Path | None, deadline: float) -> CloudAddress | None:
    if url is None:
        return None
    from tierocr.edge.refining import CloudAddress

    if not is_web_address(url):
        raise TierocrError("config_invalid", f"{url!r} is no http or https address")
    token = os.environ.get(TOKEN_VARIABLE)
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise TierocrError("config_invalid", f"cannot read {token_file}") from error
    return CloudAddress(url=url, token=token, deadline=deadline)


def _guarded(options: ReadOptions, file: Path) -> ReadOptions:
    """What may leave, by the section `privacy` of a settings file of the agent."""
    from tierocr.edge.privacy.painting import guarded_lines, guarded_pages
    from tierocr.edge.settings import EdgeSettings
    from tierocr.shared.settings import load_settings

    rules_of = load_settings(EdgeSettings, file=file, environ={}, overrides={}).privacy.rules_of
    return replace(options, leave=guarded_lines(rules_of), leave_page=guarded_pages(rules_of))


def _with_tls(
    address: CloudAddress, ca_file: Path | None, certificate: Path | None, key: Path | None
) -> CloudAddress:
    from tierocr.edge.refining import tls_of

    return replace(address, tls=tls_of(ca_file, certificate, key))
