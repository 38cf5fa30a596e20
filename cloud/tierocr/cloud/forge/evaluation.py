"""Reads lines or pages with one artefact of a pack, by the product's own door.

    python -m tierocr.cloud.forge.evaluation PACK LINES --precision int8 --batch 8

LINES: a file of `exchange.save_pictures`, or a labelled folder. Prints one JSON object. It runs in
a process of its own because the instruction set (`ONEDNN_MAX_CPU_ISA`) has to be chosen before the
runtime is loaded; `read_lines` and `read_pages` start that process and hand back what it read.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierocr.cloud.forge.gate import exact_flags
from tierocr.cloud.forge.labelled import load_lines
from tierocr.cloud.forge.lines.exchange import iterate_pictures
from tierocr.shared.document import PageImage, Pixels, Quad
from tierocr.shared.engines import EngineOptions
from tierocr.shared.engines.processor import ISA_VARIABLE
from tierocr.shared.errors import TierocrError
from tierocr.shared.geometry import as_quad
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.ocr.open import open_reader, open_recogniser
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.recognition import BatchRules

RUNTIME = "openvino"

_CHUNK = 256  # crops given to the recogniser at once: enough for full batches, little memory
_TAIL = 2000  # characters of a failed process's last words


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """A line as it was read. `quad`: TL TR BR BL, pixels of the page."""

    text: str
    quad: Quad


def read_lines(
    pack: Path, lines: Path, *, precision: str, max_batch: int, isa: str | None = None
) -> list[str]:
    """What a pack's recogniser reads in each picture of `lines`, in the same order.

    `pack`: its folder. `lines`: a file of `exchange.save_pictures`, or a labelled folder. `isa`:
    the most that the CPU may be asked for, as oneDNN names it ("AVX2", "AVX512_CORE_VNNI"); None
    for all it has. Raises TierocrError with the reading process's code, or `internal` when it died.
    """
    options = ["--precision", precision, "--batch", str(max_batch)]
    return [str(text) for text in _run([str(pack), str(lines), *options], isa)["texts"]]


def read_pages(
    pack: Path, pages: Path, *, detector: str, recogniser: str, isa: str | None = None
) -> list[list[FoundLine]]:
    """The lines that a pack reads on each page of a file of `exchange.save_pictures`.

    `detector`, `recogniser`: the precision of either network. Otherwise like `read_lines`.
    """
    options = ["--pages", "--detector", detector, "--precision", recogniser]
    found = _run([str(pack), str(pages), *options], isa)["pages"]
    return [
        [FoundLine(text=line["text"], quad=as_quad(line["quad"])) for line in page]
        for page in found
    ]


def texts_of(recogniser: Recogniser, crops: Iterable[Pixels]) -> list[str]:
    """What each crop says; few crops are held at a time."""
    texts: list[str] = []
    rest = iter(crops)
    while chunk := list(itertools.islice(rest, _CHUNK)):
        texts += [reading.text for reading in recogniser.read(chunk)]
    return texts


def _run(arguments: Sequence[str], isa: str | None) -> Any:
    """The answer of a process of this module."""
    environment = dict(os.environ)
    if isa is not None:
        environment[ISA_VARIABLE] = isa
    command = [sys.executable, "-m", "tierocr.cloud.forge.evaluation", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        said = done.stderr.strip()[-_TAIL:] or f"exit status {done.returncode}"
        raise TierocrError("internal", f"the reading process failed: {said}") from error
    if "error" in answer:
        raise TierocrError(answer["error"]["code"], answer["error"]["message"])
    return answer


def _crops(lines: Path, labels: list[str]) -> Iterator[Pixels]:
    """The crops of a file or folder, one after another; what each says is added to `labels`."""
    pictures: Iterable[tuple[Pixels, str]] = iterate_pictures(lines)
    if lines.is_dir():
        pictures = ((line.image, line.text) for line in load_lines(lines))
    for pixels, text in pictures:
        labels.append(text)
        yield pixels


def _lines_answer(pack: Pack, lines: Path, precision: str, max_batch: int) -> dict[str, Any]:
    labels: list[str] = []
    options = EngineOptions(precision=precision)
    rules = BatchRules(max_batch=max_batch)
    recogniser = open_recogniser(pack, RUNTIME, options, rules=rules)
    texts = texts_of(recogniser, _crops(lines, labels))
    exact = exact_flags(texts, labels)
    return {
        "runtime": recogniser.engine.runtime,
        "lines": len(texts),
        "exact": sum(exact),
        "texts": texts,
    }


def _pages_answer(pack: Pack, pages: Path, args: argparse.Namespace) -> dict[str, Any]:
    options = EngineOptions(precision=args.precision)
    reader = open_reader(pack, runtime=RUNTIME, options=options, detector_precision=args.detector)
    found = [
        [
            {"text": line.text, "quad": line.region.quad}
            for line in reader.read(PageImage(pixels=pixels)).page.lines
        ]
        for pixels, _ in iterate_pictures(pages)
    ]
    return {"runtime": reader.info.runtime, "pages": found}


def main() -> int:
    """Read and print; 1 when it failed, with the error in the JSON object."""
    parser = argparse.ArgumentParser(prog="evaluation", description="Read labelled lines.")
    parser.add_argument("pack", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--precision", default="f32", help="of the recogniser")
    parser.add_argument("--detector", default="f32", help="precision of the detector")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--pages", action="store_true", help="the file holds whole pages")
    args = parser.parse_args()
    try:
        pack = load_pack(args.pack)
        if args.pages:
            answer = _pages_answer(pack, args.lines, args)
        else:
            answer = _lines_answer(pack, args.lines, args.precision, args.batch)
    except TierocrError as error:
        answer = {"error": {"code": error.code, "message": error.message}}
    print(json.dumps(answer, ensure_ascii=True))
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
