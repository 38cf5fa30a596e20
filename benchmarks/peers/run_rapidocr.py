"""Read a labelled set with RapidOCR as it comes, word boxes on.

    python -m benchmarks.peers.run_rapidocr SET_DIR OUT_DIR | --serve

Run from the project's root by an interpreter that has `requirements-rapidocr.txt` installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.peers.command import parse_arguments, run_peer
from benchmarks.peers.predictions import TextLine, Word

PACKAGES = ("rapidocr", "onnxruntime")


def text_lines(output: Any) -> list[TextLine]:
    """RapidOCR's output as lines; none where it found nothing."""
    if output.boxes is None or not output.txts:
        return []
    words = words_of_lines(output.txts, output.word_results)
    return [
        TextLine(text, [[float(x), float(y)] for x, y in box], line_words)
        for text, box, line_words in zip(output.txts, output.boxes, words, strict=True)
    ]


def words_of_lines(texts: Sequence[str], word_results: Iterable[Any]) -> list[list[Word]]:
    """The words of each line, none where they are not known.

    RapidOCR drops lines without words from `word_results` but not from the texts, so the two are
    matched by what they say.
    """
    pending = [found for result in word_results if (found := _words(result))]
    words: list[list[Word]] = []
    for text in texts:
        bare = "".join(text.split())
        match = next((i for i, found in enumerate(pending) if _joined(found) == bare), None)
        words.append([] if match is None else pending[match])
        if match is not None:
            del pending[: match + 1]
    return words


def _words(result: Any) -> list[Word]:
    """An entry of `word_results`: (text, score, box) triples, or without boxes something else."""
    if not isinstance(result, (list, tuple)):
        return []
    triples = [part for part in result if isinstance(part, (list, tuple)) and len(part) == 3]
    return [
        Word(str(text), [[float(x), float(y)] for x, y in box])
        for text, _, box in triples
        if box is not None
    ]


def _joined(words: Sequence[Word]) -> str:
    return "".join("".join(word.text for word in words).split())


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = parse_arguments(__doc__, argv)

    from rapidocr import RapidOCR  # only here: the rest of this module is tested without it

    engine: Any = RapidOCR(params={"Global.log_level": "error"})
    run_peer(
        options,
        read=lambda path: engine(str(path), return_word_box=True),
        to_lines=text_lines,
        packages=PACKAGES,
        parameters={"models": "PP-OCRv6 small", "boxes": "words"},
    )


if __name__ == "__main__":
    main()
