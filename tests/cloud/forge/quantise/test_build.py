from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("nncf", reason="needs the extra quantise")

from tests.cloud.forge.quantise.broken import wrongly_scaled
from tests.cloud.forge.quantise.conftest import write_folder
from tests.cloud.forge.quantise.small import POINTWISE
from tierocr.cloud.forge.gate import GateLimits
from tierocr.cloud.forge.quantise.artefacts import Made
from tierocr.cloud.forge.quantise.build import Recipe, build
from tierocr.cloud.forge.quantise.calibration import Source
from tierocr.cloud.forge.quantise.material import Wanted
from tierocr.cloud.forge.quantise.openvino_int8 import save, to_openvino
from tierocr.shared.cli import build as command_tree
from tierocr.shared.document import Pixels
from tierocr.shared.engines import EngineOptions, processor
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.models.rewriting import (
    copy_files,
    dump,
    read_values,
    with_built,
    without_built,
)
from tierocr.shared.ocr.open import open_recogniser

pytestmark = [
    pytest.mark.usefixtures("generator"),
    pytest.mark.skipif(not processor.gated_kernels()[0], reason="this processor has no AVX2"),
]

LENIENT = GateLimits(total=100, one_set=100, least_generated=1, least_exact=0, most_exact=100)


@pytest.fixture(scope="module")
def read_before(
    small: Pack, printed: list[Pixels], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A labelled folder that says what the small recogniser reads."""
    recogniser = open_recogniser(small, "openvino", EngineOptions(precision="f32"))
    crops = printed * 3
    texts = [reading.text for reading in recogniser.read(crops)]
    return write_folder(tmp_path_factory.mktemp("read") / "before", crops, texts)


@pytest.fixture
def recipe(labelled: Path) -> Recipe:
    return Recipe(
        networks=("recogniser",),
        targets=("trt10",),
        source=Source(folder=labelled, lines=6),
        wanted=Wanted(lines=24, limits=LENIENT),
    )


def copy_of(pack: Pack, folder: Path) -> Path:
    folder.mkdir()
    values = read_values(pack.folder)
    copy_files(pack, values, folder)
    (folder / "pack.yaml").write_text(dump(values), encoding="utf-8")
    return folder


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command_tree(arguments), arguments)


def test_a_pack_gets_its_int8_artefacts(tmp_path: Path, recipe: Recipe, small: Pack) -> None:
    said: list[str] = []
    built = build(small, tmp_path / "built", recipe, said.append)
    assert built.folder == tmp_path / "built"
    pack = load_pack(built.folder)
    pack.verify()
    assert {*pack.manifest.files, "pack.yaml"} == {p.name for p in built.folder.iterdir()}
    assert pack.artefact("recogniser", "openvino", "int8").name == "recogniser-int8.xml"
    assert pack.artefact("recogniser", "tensorrt", "int8", "trt10").suffix == ".onnx"
    (openvino, tensorrt) = [a for a in pack.manifest.artefacts if a.measured]
    assert openvino.weights == "recogniser-int8.bin" and tensorrt.target == "trt10"
    openvino_files = (openvino.file, openvino.weights)
    ways = {(m.isa, m.batch) for m in openvino.measured}
    assert ways == {(isa, batch) for isa in processor.gated_kernels()[0] for batch in (1, 8)}
    assert all(m.lines == 24 and m.bound >= m.loss for m in openvino.measured)
    (record,) = pack.manifest.built
    assert set(record.tools) >= {"nncf", "openvino", "onnxruntime"}
    assert set(record.files) == {*openvino_files, tensorrt.file}
    assert list(record.not_measured) == processor.gated_kernels()[1]
    assert any("quantising" in text for text in said)
    assert {p.name for p in tmp_path.iterdir()} == {"built"}
    left = without_built(read_values(built.folder))
    assert left == without_built(read_values(small.folder))


def test_an_artefact_that_reads_nothing_is_refused(
    tmp_path: Path, recipe: Recipe, small: Pack, blank_paper: Path, read_before: Path
) -> None:
    source = Source(folder=blank_paper)  # no range of it fits print
    strict = replace(LENIENT, total=5)
    kernels = recipe.wanted.kernels[:1]  # each takes a process
    wanted = replace(
        recipe.wanted, folders=(read_before,), limits=strict, kernels=kernels, batches=(8,)
    )
    worse = replace(recipe, source=source, wanted=wanted, runtimes=("openvino",))
    built = build(small, tmp_path / "out", worse)
    assert built.folder is None and not list(tmp_path.iterdir())
    (checked,) = built.checked
    assert checked.hurts and checked.hurts[0].share > 0
    assert "loses" in " ".join(r for way in checked.ways for r in way.verdict.reasons)


def test_a_broken_artefact_is_refused_and_its_layer_named(
    tmp_path: Path, small: Pack, read_before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = copy_of(small, tmp_path / "broken")
    network = wrongly_scaled(to_openvino(small.file("recogniser.onnx")), POINTWISE)
    file, _ = save(network, folder / "recogniser-int8.xml")
    made = Made(network="recogniser", runtime="openvino", file=file)
    values = with_built(read_values(folder), [made.entry()], made.digests(), None)
    (folder / "pack.yaml").write_text(dump(values), encoding="utf-8")
    result = call(
        *("models", "gate", str(folder), "--lines", "24", "--partly"),
        *("--evaluate", str(read_before)),
    )
    assert result.exit_code == 1
    assert "refused" in result.stdout and "all labels: loses" in result.stderr
    layers = [row for row in result.stdout.splitlines() if "Conv." in row or "MatMul." in row]
    assert POINTWISE in layers[0] and "100 %" in layers[0]


def test_a_layer_to_keep_that_there_is_not_is_named(
    tmp_path: Path, recipe: Recipe, small: Pack
) -> None:
    with pytest.raises(TierocrError) as caught:
        build(small, tmp_path / "out", replace(recipe, keep=(POINTWISE, "Conv.99")))
    assert caught.value.code == "bad_request"
    assert "Conv.99" in caught.value.message.split(";")[0] and POINTWISE in caught.value.message
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_alone(tmp_path: Path, recipe: Recipe, small: Pack) -> None:
    with pytest.raises(TierocrError) as caught:
        build(small, tmp_path, recipe)
    assert caught.value.code == "output_failed"


def test_a_pack_without_int8_cannot_be_gated(small: Pack) -> None:
    result = call("models", "gate", str(small.folder), "--partly")
    assert isinstance(result.exception, TierocrError)
    assert result.exception.code == "not_found"
