from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.rendered import line_crop, random_crops
from tierocr.cloud.forge.lines.folder import write_lines
from tierocr.cloud.forge.lines.generator import GeneratedLine
from tierocr.cloud.forge.quantise.calibration import line_tensors
from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.shared.document import Floats, Pixels
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack

TEXTS = ("INVOICE 2031-7", "TOTAL 48.50", "Paid by card", "No. 12/345", "Thank you!")


def write_folder(folder: Path, printed: list[Pixels], texts: Sequence[str] = ()) -> Path:
    """A labelled folder of single lines."""
    says = texts or ["x"] * len(printed)
    lines = [
        GeneratedLine(image=crop, text=text, kind="made", medium="made")
        for crop, text in zip(printed, says, strict=True)
    ]
    write_lines(folder, lines)
    return folder


@pytest.fixture(scope="session")
def printed() -> list[Pixels]:
    """Lines of many looks."""
    return [*random_crops(12, seed=3), *(line_crop(t, scale=1.2) for t in TEXTS)]


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory, printed: list[Pixels]) -> Path:
    """A labelled folder to calibrate on."""
    return write_folder(tmp_path_factory.mktemp("labelled") / "lines", printed)


@pytest.fixture(scope="session")
def blank_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A labelled folder in which nothing is printed."""
    paper = np.full((40, 200, 3), 128, dtype=np.uint8)
    return write_folder(tmp_path_factory.mktemp("blank") / "lines", [paper] * 3)


@pytest.fixture
def generator() -> None:
    """Skips where the generator cannot draw."""
    try:
        load("sans", 10), load("mono", 10)
    except TierocrError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """A pack whose recogniser has a few layers."""
    pytest.importorskip("nncf", reason="needs the extra quantise")
    from tests.cloud.forge.quantise.small import write_small_pack

    return load_pack(write_small_pack(tmp_path_factory.mktemp("packs") / "small"))


@pytest.fixture(scope="session")
def tensors(small: Pack, printed: list[Pixels]) -> list[Floats]:
    """What the small recogniser is given for a few lines."""
    return line_tensors(printed[:4], small.manifest.recogniser.facts(small.charset()))
