"""`tierocr read` as it is typed: exit codes, files, what is said where."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.fakes.cloud import fake_cloud, hang, right, status
from tests.fakes.rows import page, tiff
from tierocr.edge.samples import sample_pages
from tierocr.shared.cli import main
from tierocr.shared.export.json import published_schema

ONNX = ("--runtime", "onnxruntime")  # the one that opens fastest


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Run:
    """Run the command line in this process, in an empty folder."""
    for name in [n for n in os.environ if n.startswith("TIEROCR_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, stdin: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "argv", ["tierocr", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfdbinary.readouterr()
        code = ended.value.code
        return Said(code=code if isinstance(code, int) else 0, out=out.decode(), err=err.decode())

    return call


def picture(*texts: str) -> bytes:
    pixels = np.full((30 + 60 * len(texts), 500, 3), 255, dtype=np.uint8)
    for i, text in enumerate(texts):
        at = (20, 55 + 60 * i)
        cv2.putText(pixels, text, at, cv2.FONT_HERSHEY_DUPLEX, 1.2, (0, 0, 0), 2, cv2.LINE_AA)
    return cv2.imencode(".png", pixels)[1].tobytes()


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """`scans/a.png`, `scans/sub/b.png` and something that is no scan."""
    folder = tmp_path / "scans"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.png").write_bytes(picture("Invoice"))
    (folder / "sub" / "b.png").write_bytes(picture("Receipt"))
    (folder / "readme.txt").write_bytes(b"not to be read")
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# -- what is read and where it goes --------------------------------------------------------------


def test_a_folder_into_a_folder(run: Run, scans: Path, tmp_path: Path) -> None:
    said = run("read", "scans", "-o", "out/new", *ONNX)
    assert said == Said(code=0, out="", err="")
    assert tree(tmp_path / "out") == ["new/a.png.txt", "new/sub/b.png.txt"]
    assert (tmp_path / "out/new/a.png.txt").read_text(encoding="utf-8") == "Invoice\n"


def test_to_standard_output_in_the_order_named(run: Run, scans: Path) -> None:
    said = run("read", "scans/sub/*.png", "scans/a.png", "scans", *ONNX)
    assert said == Said(code=0, out="Receipt\nInvoice\n", err="")


def test_standard_input(run: Run) -> None:
    said = run("read", "-", "-f", "json", *ONNX, stdin=picture("Receipt"))
    document = json.loads(said.out)
    assert (said.code, said.err) == (0, "")
    assert document["input"]["name"] == "stdin"
    Draft202012Validator(published_schema()).validate(document)
    said = run("read", "-", "-o", "out", *ONNX, stdin=picture("Receipt"))
    assert Path("out/stdin.txt").read_text(encoding="utf-8") == "Receipt\n"


def test_rules_are_applied(run: Run, scans: Path) -> None:
    said = run("read", "scans/a.png", "--rule", "widths", "--rule", "spaces", *ONNX)
    assert said == Said(code=0, out="Invoice\n", err="")


def test_a_name_in_another_encoding(run: Run, tmp_path: Path) -> None:
    name = os.fsdecode("发票.png".encode("gbk"))
    (tmp_path / name).write_bytes(picture("Invoice"))
    assert run("read", name, *ONNX) == Said(code=0, out="Invoice\n", err="")
    said = run("read", name, "-f", "json", *ONNX)
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["pages"][0]["lines"][0]["text"] == "Invoice"
    assert run("read", name, "-o", "out", *ONNX).code == 0
    assert len(tree(tmp_path / "out")) == 1


# -- what cannot be meant: 2, and nothing was read ------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["scans/a.png", "-f", "jsn"], ["jsn", "json", "text", "markdown"]),
        (["scans/a.png", "--rule", "width"], ["width", "widths"]),
        (["scans/a.png", "--pack", "edge-tinny"], ["edge-tinny", "edge-tiny"]),
        (["scans/a.png", "--runtime", "openvin"], ["openvin", "openvino", "onnxruntime"]),
        (["scans/a.png", "--precision", "f8"], ["f8"]),
        (["scans/a.png", "--cloud", "ftp://cloud"], ["ftp://cloud", "http"]),
        (["scans/a.png", "--cloud", "http://x", "--token-file", "none"], ["none"]),
        (["scans/a.png", "scans/b.png"], ["scans/b.png"]),
        (["scans/*.tiff"], ["scans/*.tiff"]),
        (["scans/sub/empty"], ["scans/sub/empty"]),
        (["scans/a.png", "scans/sub/a.png"], ["a.png"]),
        (["scans/a.png", "--threshold", "1.5"], ["--threshold"]),
        (["scans/a.png", "--deadline", "0"], ["--deadline"]),
        (["scans/a.png", "--deadlin", "1"], ["--deadlin"]),
        ([], ["files"]),
    ],
)
def test_what_cannot_be_meant(
    run: Run, scans: Path, tmp_path: Path, arguments: list[str], named: list[str]
) -> None:
    (scans / "sub" / "empty").mkdir()
    (scans / "sub" / "a.png").write_bytes(picture("Twin"))
    said = run("read", *arguments, "-o", "out")
    assert said.code == 2
    assert said.out == ""
    for word in named:
        assert word in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "out").exists()


# -- what fails alone: 1, and the rest is delivered -----------------------------------------------


def test_a_corrupt_file_among_good_ones(run: Run, scans: Path, tmp_path: Path) -> None:
    (scans / "b.png").write_bytes((scans / "a.png").read_bytes()[:50])
    (scans / "c.pdf").write_bytes(b"%PDF-1.7\nand then nothing")
    said = run("read", "scans", "-o", "out", *ONNX)
    assert said.code == 1
    assert "b.png: bad_image: " in said.err and "c.pdf: " in said.err
    assert len(said.err.splitlines()) == 2
    assert Path("out/a.png.txt").read_text(encoding="utf-8") == "Invoice\n"
    assert Path("out/sub/b.png.txt").read_text(encoding="utf-8") == "Receipt\n"


def test_a_target_that_cannot_be_written(run: Run, scans: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "a.png.txt").mkdir(parents=True)
    said = run("read", "scans", "-o", "out", *ONNX)
    assert said.code == 1
    (line,) = said.err.splitlines()
    assert line.startswith("tierocr: a.png: output_failed: ")
    assert tree(tmp_path / "out") == ["sub/b.png.txt"]


def test_an_output_folder_that_is_a_file(run: Run, scans: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    said = run("read", "scans", "-o", "out", *ONNX)
    assert said.code == 1
    assert said.err.count("output_failed") == 2 and "Traceback" not in said.err


def test_too_many_pages(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.tiff").write_bytes(tiff([page("abc"), page("def")]))
    said = run("read", "two.tiff", "--max-pages", "1", *ONNX)
    assert said.code == 1 and "two.tiff: too_large: " in said.err


# -- the cloud -----------------------------------------------------------------------------------

EVERYTHING = ("--threshold", "1", "--max-share", "1")


def test_unsure_lines_are_refined(run: Run, scans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cloud(right) as cloud:
        said = run("read", "scans/a.png", "--cloud", cloud.url, *EVERYTHING, *ONNX)
        assert said == Said(code=0, out="INVOICE\n", err="")
        monkeypatch.setenv("TIEROCR_CLOUD__URL", cloud.url)
        monkeypatch.setenv("TIEROCR_CLOUD__TOKEN", "from the environment")
        Path("token").write_text("from a file\n")
        assert run("read", "scans/a.png", *EVERYTHING, *ONNX).out == "INVOICE\n"
        more = ("--token-file", "token")
        assert run("read", "scans/a.png", *more, *EVERYTHING, *ONNX).out == "INVOICE\n"
    sent = [call.headers.get("Authorization") for call in cloud.calls]
    assert sent == [None, "Bearer from the environment", "Bearer from a file"]


def test_what_must_not_leave_does_not(run: Run, scans: Path) -> None:
    Path("edge.yaml").write_text("privacy: {labels: [Invoice]}\n")
    with fake_cloud(right) as cloud:
        sent = ("--cloud", cloud.url, *EVERYTHING, *ONNX)
        assert run("read", "scans/a.png", "--privacy", "edge.yaml", *sent).out == "Invoice\n"
        assert cloud.calls == []
    Path("edge.yaml").write_text("privacy: {label: [Invoice]}\n")
    said = run("read", "scans/a.png", "--privacy", "edge.yaml", *ONNX)
    assert said.code == 2 and "did you mean privacy.labels" in said.err


@pytest.mark.parametrize("options", [("--offline",), ("--max-share", "0"), ("--threshold", "0")])
def test_nothing_is_sent(
    run: Run, scans: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    with fake_cloud(right) as cloud:
        monkeypatch.setenv("TIEROCR_CLOUD__URL", cloud.url)
        said = run("read", "scans/a.png", "--cloud", cloud.url, *EVERYTHING, *options, *ONNX)
        assert said == Said(code=0, out="Invoice\n", err="")
        assert cloud.calls == []


@pytest.mark.parametrize(
    ("answer", "code"), [(hang, "deadline_exceeded"), (status(401), "unauthorized")]
)
def test_a_cloud_that_fails_is_a_warning(run: Run, scans: Path, answer: Any, code: str) -> None:
    with fake_cloud(answer) as cloud:
        more = ("--cloud", cloud.url, "--deadline", "0.5", *EVERYTHING)
        said = run("read", "scans/a.png", *more, *ONNX)
    assert (said.code, said.out) == (0, "Invoice\n")
    (line,) = said.err.splitlines()
    assert line.startswith(f"tierocr: a.png: {code}: ")


# -- as a process --------------------------------------------------------------------------------


def process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("TIEROCR_", "LC_", "LANG"))}
    command = [sys.executable, "-c", "from tierocr.shared.cli import main; main()", *arguments]
    more = {"stdout": subprocess.PIPE, **more}
    environ["LC_ALL"] = "C"
    environ["PYTHONUTF8"] = "0"  # or Python would take C for UTF-8
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60, env=environ, **more)


def test_output_is_utf8_whatever_the_locale_and_a_pipe_stays_quiet() -> None:
    (sample,) = (p for p in sample_pages() if p.name == "low_light_zh.jpg")
    done = process("read", "-", "-", *ONNX, input=sample.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert any("\u4e00" <= c <= "\u9fff" for c in done.stdout.decode("utf-8"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_refuses(scans: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process("read", str(scans / "a.png"), *ONNX, stdout=full)
    said = done.stderr.decode()
    assert done.returncode == 1
    assert "output_failed" in said and "Traceback" not in said


def test_nobody_reads_standard_output(scans: Path) -> None:
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    try:
        done = process("read", str(scans), *ONNX, stdout=writing_end)
    finally:
        os.close(writing_end)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["hocr", "alto", "pdf"])
def test_formats_that_say_where_text_stands(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.png").write_bytes(picture("Total 12.50"))
    done = run("read", "a.png", "--offline", "-f", name, "-o", "out", *ONNX)
    assert (done.code, done.err) == (0, "")
    (result,) = (tmp_path / "out").iterdir()
    assert result.read_bytes()[:5] == (b"%PDF-" if name == "pdf" else b"<?xml")


def test_pdf_shows_the_pages_and_so_needs_a_file(run: Run) -> None:
    done = run("read", "-", "-f", "pdf", *ONNX, stdin=picture("Total"))
    assert done.code == 2 and "not from standard input" in done.err
