"""`tierocr read`, `demo` and small commands as real processes, beside a real or a nasty cloud."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import pytest
from jsonschema import Draft202012Validator

from tests.fakes.cloud import Answer, bad_gzip, body, fake_cloud, hang
from tests.fakes.environ import plain_environ
from tierocr.cloud.tokens import add_token
from tierocr.edge.samples import sample_pages
from tierocr.shared.export.json import published_schema

pytestmark = pytest.mark.system

ONNX = ("--runtime", "onnxruntime")  # the one that opens fastest
SAMPLE = "receipt_en.jpg"
READING_SECONDS = 60.0
"""Start, loading and reading on a busy machine; what is judged is that nothing waits for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str
    seconds: float


def tierocr(*arguments: object, timeout: float = 120, **environ: str) -> Done:
    """Run the command line as a process."""
    command = [sys.executable, "-c", "from tierocr.shared.cli import main; main()"]
    started = time.monotonic()
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        env=plain_environ(**environ),
        timeout=timeout,
    )
    return Done(
        code=done.returncode,
        out=done.stdout.decode(),
        err=done.stderr.decode(),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A running service."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def cloud(folder: Path, *options: str) -> Iterator[Cloud]:
    """`python -m tierocr.cloud` on a free port."""
    environ = plain_environ(
        TIEROCR_MODEL__WARM_WIDTHS="[128]", TIEROCR_MODEL__RUNTIME="onnxruntime"
    )
    port_file = folder / "port"
    command = [sys.executable, "-m", "tierocr.cloud", "--port", "0", "--port-file", str(port_file)]
    with (folder / "cloud.log").open("wb") as log:
        process = subprocess.Popen([*command, *options], stdout=log, stderr=log, env=environ)
        try:
            limit = time.monotonic() + 60
            while not (port_file.exists() and port_file.read_text()):
                log_text = (folder / "cloud.log").read_text()
                assert process.poll() is None and time.monotonic() < limit, log_text
                time.sleep(0.05)
            yield Cloud(url=f"http://127.0.0.1:{port_file.read_text()}", process=process)
        finally:
            process.kill()
            process.wait()


OPEN = ("--allow-anonymous", "--pack", "edge-tiny")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled samples as files."""
    folder = tmp_path_factory.mktemp("samples")
    for page in sample_pages():
        (folder / page.name).write_bytes(page.read_bytes())
    return folder


@pytest.fixture(scope="module")
def edge_text(samples: Path) -> str:
    """What the edge alone reads on the one sample."""
    done = tierocr("read", samples / SAMPLE, "--offline", *ONNX)
    assert (done.code, done.err) == (0, "")
    assert "Total" in done.out or "TOTAL" in done.out
    return done.out


def lines_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for page in document["pages"] for line in page["lines"]]


# -- the two tiers together ----------------------------------------------------------------------


def test_samples_are_read_in_two_tiers_until_the_cloud_dies(
    samples: Path, edge_text: str, tmp_path: Path
) -> None:
    names = [SAMPLE, "report_two_pages.pdf"]
    files = [samples / name for name in names]
    with cloud(tmp_path, *OPEN) as service:
        to_cloud = ("--cloud", service.url, "--deadline", "60")
        done = tierocr("read", *files, "-f", "json", "-o", tmp_path / "out", *to_cloud, *ONNX)
        assert (done.code, done.out, done.err) == (0, "", "")
        service.process.kill()
        service.process.wait()
        after = tierocr("read", samples / SAMPLE, "--cloud", service.url, "--deadline", "1", *ONNX)
    validator = Draft202012Validator(published_schema())
    for name in names:
        document = json.loads((tmp_path / "out" / f"{name}.json").read_text(encoding="utf-8"))
        validator.validate(document)
        assert (document["input"]["name"], document["status"]) == (name, "final")
        assert document["engine"]["pack"] == "edge-tiny"
        lines = lines_of(document)
        refined = [line for line in lines if line["source"] == "cloud"]
        assert 0 < len(refined) <= len(lines) // 4 + 4 * len(document["pages"])
        assert all(line["alternatives"] for line in refined)
        assert all(line["route"]["bytes"] > 0 for line in refined)
        assert all(line["route"] is not None for line in lines)
    assert (after.code, after.out) == (0, edge_text)
    assert_one_warning(after, "unavailable", SAMPLE)


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the pack cloud-small needs rapidocr")
def test_the_clouds_own_pack_refines(samples: Path, tmp_path: Path) -> None:
    with cloud(tmp_path, "--allow-anonymous", "--pack", "cloud-small") as service:
        to_cloud = ("--cloud", service.url, "--deadline", "60")
        done = tierocr("read", samples / SAMPLE, "-f", "json", *to_cloud, *ONNX)
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    Draft202012Validator(published_schema()).validate(document)
    refined = [line for line in lines_of(document) if line["source"] == "cloud"]
    assert refined and all(line["alternatives"][-1]["source"] == "edge" for line in refined)


def test_a_token_decides(samples: Path, edge_text: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.jsonl"
    token = add_token(tokens, "kiosk", "now")
    with cloud(tmp_path, "--tokens", str(tokens), "--pack", "edge-tiny") as service:
        read = ("read", samples / SAMPLE, "--cloud", service.url, "--deadline", "30", *ONNX)
        wrong = tierocr(*read, TIEROCR_CLOUD__TOKEN="not-the-token")
        (tmp_path / "token").write_text(f"{token}\n")
        good = tierocr(*read, "-f", "json", "--token-file", tmp_path / "token")
    assert (wrong.code, wrong.out) == (0, edge_text)
    assert_one_warning(wrong, "unauthorized", SAMPLE)
    assert (good.code, good.err) == (0, "")
    assert any(line["source"] == "cloud" for line in lines_of(json.loads(good.out)))
    assert token not in good.out + wrong.err


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(hang, "deadline_exceeded", id="hangs"),
        pytest.param(body(b"<html>Please log in</html>", "text/html"), "unavailable", id="html"),
        pytest.param(bad_gzip, "unavailable", id="damaged"),
    ],
)
def test_a_nasty_cloud_costs_a_warning(
    samples: Path, edge_text: str, answer: Answer, code: str
) -> None:
    with fake_cloud(answer) as nasty:
        to_cloud = ("--cloud", nasty.url, "--deadline", "1")
        done = tierocr("read", samples / SAMPLE, *to_cloud, *ONNX)
        assert nasty.calls
    assert (done.code, done.out) == (0, edge_text)
    # an attempt that is under way at the deadline ends as deadline_exceeded, whatever came before
    assert_one_warning(done, code, SAMPLE, or_else="deadline_exceeded")


def assert_one_warning(done: Done, code: str, name: str, or_else: str | None = None) -> None:
    (line,) = done.err.splitlines()
    assert line.startswith(tuple(f"tierocr: {name}: {c}: " for c in (code, or_else or code)))
    assert done.seconds < 1.0 + READING_SECONDS


# -- the other commands --------------------------------------------------------------------------


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    done = tierocr("demo", "--pack", "edge-tiny", "-o", tmp_path / "demo", timeout=240)
    assert (done.code, done.err) == (0, "")
    assert "tiered exact" in done.out
    drawn = sorted(p.name for p in (tmp_path / "demo").iterdir())
    pages = [p.name for p in sample_pages() if not p.name.endswith(".pdf")]
    expected = [f"{name}.png" for name in pages] + [f"report_two_pages.pdf.{n}.png" for n in (1, 2)]
    assert drawn == sorted(expected)
    for name in drawn:
        assert name.removesuffix(".png") in done.out or "report_two_pages" in name
        assert cv2.imread(str(tmp_path / "demo" / name)) is not None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("doctor",), "openvino"),
        (("models", "list"), "edge-tiny"),
        (("models", "verify", "edge-tiny"), "edge-tiny"),
        (("--version",), "tierocr "),
        (("--help",), "read"),
    ],
)
def test_small_commands(arguments: tuple[str, ...], says: str) -> None:
    done = tierocr(*arguments)
    assert (done.code, done.err) == (0, "")
    assert says in done.out


def test_a_pack_that_is_not_there() -> None:
    done = tierocr("models", "verify", "no-such-pack")
    assert done.code == 1
    assert "no-such-pack" in done.err and "edge-tiny" in done.err and "Traceback" not in done.err
