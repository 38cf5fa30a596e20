"""Read a labelled set with faster-paddle, which gives upright line boxes.

    python -m benchmarks.peers.run_faster_paddle [--model tiny|small] SET_DIR OUT_DIR | --serve

Run from the project's root by an interpreter that has `requirements-faster-paddle.txt` installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.command import parse_arguments, run_peer
from benchmarks.peers.predictions import TextLine

PACKAGES = ("faster-paddle",)


def text_lines(output: Mapping[str, Any]) -> list[TextLine]:
    """The `bounds` of faster-paddle's output as lines, in its order."""
    lines = []
    for _, bound in sorted(output["bounds"].items(), key=lambda item: int(item[0])):
        (left, top), (right, bottom) = bound["topLeftCoord"], bound["bottomRightCoord"]
        polygon = [[left, top], [right, top], [right, bottom], [left, bottom]]
        lines.append(TextLine(bound["text"], [[float(x), float(y)] for x, y in polygon]))
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = parse_arguments(__doc__, argv, models=("tiny", "small"))

    # only here: the rest of this module is tested without it
    from faster_paddle import OcrEngine  # type: ignore[import, unused-ignore]

    engine = OcrEngine(model_size=options.model)
    run_peer(
        options,
        read=lambda path: engine.ocr(path.read_bytes()),
        to_lines=text_lines,
        packages=PACKAGES,
        parameters={"models": f"PP-OCRv6 {options.model}", "boxes": "lines"},
    )


if __name__ == "__main__":
    main()
