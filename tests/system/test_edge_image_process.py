"""The edge image's install steps, outside a container: does what they leave read a page?"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT, stages
from tierocr.edge.api.health import NOT_READY

pytestmark = pytest.mark.system
FILE = ROOT / "deploy" / "edge.Dockerfile"
UNREACHABLE = re.compile("NewConnectionError|ConnectTimeout|NameResolutionError|ProxyError")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the build stage leaves in /opt/tierocr, with what it depends on borrowed from the
    environment of the tests, but for the runtime that is not in the image.
    """
    root = tmp_path_factory.mktemp("image")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"RUNTIME": "openvino", "PATH": path, "PIP_RETRIES": "1", "PIP_NO_COMPILE": "1"}
    environ = os.environ | more | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    here = root / "src"
    for kind, arguments in stages(FILE)["build"].steps:
        if kind == "WORKDIR":
            here.mkdir()
        elif kind == "COPY":
            *names, target = arguments.split()
            for name in names:
                copy(ROOT / name, here / target)
        elif kind == "RUN":
            moved = re.sub(r"(?<![\w./*])/(src|wheels|opt/tierocr)\b", rf"{root}/\1", arguments)
            moved = moved.replace(" --no-cache-dir", "").replace("pip wheel", "pip wheel --no-deps")
            command = ["sh", "-ec", moved]
            done = subprocess.run(command, cwd=here, env=environ, capture_output=True, text=True)
            if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
                pytest.skip("the package index cannot be reached")
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            assert kind == "ARG"
    environment = root / "opt" / "tierocr"
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (packages / "onnxruntime.py").write_text("raise ImportError('not in this image')\n")
    yield environment
    shutil.rmtree(root)


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def test_the_installed_agent_reads_is_probed_and_stops(installed: Path, tmp_path: Path) -> None:
    settings = tmp_path / "edge.yaml"
    settings.write_text("outbox: {free_bytes: 0}\n")
    environ = {
        "PATH": f"{installed}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TIEROCR_CACHE": "",
        "TIEROCR_STATE__FOLDER": str(tmp_path / "state"),
        "TIEROCR_API__PORT": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    assert stages(FILE)["agent"].all("CMD") == ['["edge", "--config", "/etc/tierocr/edge.yaml"]']
    log = tmp_path / "stderr"
    with log.open("w+") as stderr:
        process = subprocess.Popen(
            ["tierocr", "edge", "--config", str(settings)], cwd=tmp_path, env=environ, stderr=stderr
        )
    try:
        limit = time.monotonic() + 60
        while '"ready"' not in log.read_text():
            assert process.poll() is None and time.monotonic() < limit, log.read_text()
            time.sleep(0.05)
        found = re.search(r'"address": "http://127.0.0.1:(\d+)"', log.read_text())
        assert found is not None
        probe = ["python", "-m", "tierocr.edge.probe", found[1]]
        assert subprocess.run(probe, env=environ, timeout=30).returncode == 0
        page = (ROOT / "edge/tierocr/edge/samples/receipt_en.jpg").read_bytes()
        request = urllib.request.Request(f"http://127.0.0.1:{found[1]}/v1/ocr", data=page)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = response.read().decode()
        assert '"lines"' in answer and NOT_READY not in answer
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert subprocess.run(probe, env=environ, timeout=30).returncode == 1
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()
