"""The edge's images, as far as they can be judged without building them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zlib
from fnmatch import fnmatch
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT, stages
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.settings import load_settings

X86, JETSON = ROOT / "deploy" / "edge.Dockerfile", ROOT / "deploy" / "edge-jetson.Dockerfile"
BASE_BYTES = 50e6
"""Of python:3.11-slim-bookworm for amd64, as it is downloaded, rounded up."""


def hadolint() -> str | None:
    beside = Path(sys.executable).with_name("hadolint")
    return str(beside) if beside.exists() else shutil.which("hadolint")


@pytest.mark.skipif(hadolint() is None, reason="hadolint is not installed")
@pytest.mark.parametrize("file", [X86, JETSON], ids=lambda f: f.stem)
def test_the_linter_finds_nothing(file: Path) -> None:
    command = [str(hadolint()), "--no-color", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("file", [X86, JETSON], ids=lambda f: f.stem)
def test_the_agent_is_nobody_and_holds_only_what_was_built(file: Path) -> None:
    found = stages(file)
    bases = [stage.base for stage in found.values() if stage.base not in found]
    assert all(re.fullmatch(r"[\w./-]+:r?\d+\.\d+\.\d+[\w.-]*", base) for base in bases)
    last = found["agent"]
    assert list(found)[-1] == "agent" and last.all("USER") == ["10001:10001"]
    assert last.all("COPY") == ["--from=build /opt/tierocr /opt/tierocr"]
    assert last.all("VOLUME") == ["/var/lib/tierocr"]
    (check,) = last.all("HEALTHCHECK")
    python, flag, module = json.loads(check.partition(" CMD ")[2])
    assert (python, flag) == ("python", "-m") and find_spec(module) is not None
    pairs = re.findall(r"(\S+?)=(\S+)", " ".join(last.all("ENV")))
    environ = {n: v.strip('"').replace("$RUNTIME", "openvino") for n, v in pairs}
    settings = load_settings(EdgeSettings, file=None, environ=environ, overrides={})
    assert settings.api.port == 8502 and settings.state.folder == Path("/var/lib/tierocr/state")
    copied = {name for step in found["build"].all("COPY") for name in step.split()[:-1]}
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied == {rule[1:] for rule in rules if rule.startswith("!")}


def test_the_image_is_small_enough() -> None:
    """Installed files of everything that goes in, a part of each compressed as a layer would be."""
    total = BASE_BYTES + sum(compressed(file) for file in installed_files())
    assert total < 400e6, f"{total / 1e6:.0f} MB"


def installed_files() -> list[Path]:
    removed = re.findall(r"-name '([^']+)'", X86.read_text(encoding="utf-8"))
    assert len(removed) >= 5
    files = []
    for name in required("tierocr") - {"onnxruntime"}:
        distribution = metadata.distribution(name)
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if path.is_file() and not any(fnmatch(path.name, pattern) for pattern in removed):
                files.append(path)
    files += [f for part in ("edge", "cloud", "shared") for f in (ROOT / part).rglob("*")]
    return [f for f in files if f.is_file() and "__pycache__" not in f.parts]


def required(name: str) -> set[str]:
    """A distribution and all that it needs without extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        try:
            needs = metadata.requires(current) or []
        except metadata.PackageNotFoundError:
            continue  # not for this Python or system
        if current not in found and current != "tierocr":
            found.add(current)
        for need in needs:
            match = re.match(r"[\w.-]+", need)
            if match and "extra ==" not in need and match[0] not in found | {current}:
                waiting.append(match[0])
    return found


def compressed(file: Path) -> float:
    """Bytes of a file in a layer, judged by a sixteenth of its blocks."""
    block, every = 1 << 16, 16
    size, taken, packed = file.stat().st_size, 0, 0
    with file.open("rb") as source:
        for start in range(0, size, block * every):
            source.seek(start)
            data = source.read(block)
            taken, packed = taken + len(data), packed + len(zlib.compress(data, 6))
    return size * packed / taken if taken else 0.0
