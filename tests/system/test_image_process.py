"""The image's install steps, outside a container: do its wheels start a service elsewhere?"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT, stages

pytestmark = pytest.mark.system

UNREACHABLE = re.compile(
    "NewConnectionError|ConnectTimeout|NameResolutionError|ProxyError|Network is unreachable"
)


def outside(text: str, root: Path, *, whole: bool) -> str:
    """A step's paths under `root`; pip's cache is used here, which an image has no use for."""
    moved = re.sub(r"(?<![\w./])/(src|wheels|opt/tierocr)\b", rf"{root}/\1", text)
    moved = moved.replace(" --no-cache-dir", "")
    return moved if whole else moved.replace("pip wheel", "pip wheel --no-deps")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="dependencies-of-here"),
        pytest.param(True, id="whole", marks=pytest.mark.soak),
    ],
)
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """What the build stage leaves in /opt/tierocr: whole, or with what it depends on borrowed from
    the environment of the tests, as unpacking 200 MB takes its time.
    """
    whole, root = request.param, tmp_path_factory.mktemp("image")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"VARIANT": "cpu", "PATH": path, "PIP_RETRIES": "1", "PIP_NO_COMPILE": "1"}
    environ = os.environ | more | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for kind, arguments in stages()["build"].steps:
        if kind == "WORKDIR":
            here = Path(outside(arguments, root, whole=whole))
            here.mkdir()
        elif kind == "COPY":
            *names, target = arguments.split()
            for name in names:
                copy(ROOT / name, here / target)
        elif kind == "RUN":
            command = ["sh", "-ec", outside(arguments, root, whole=whole)]
            done = subprocess.run(command, cwd=here, env=environ, capture_output=True, text=True)
            said = done.stdout + done.stderr
            if done.returncode and UNREACHABLE.search(said):
                pytest.skip("the package index cannot be reached")
            assert done.returncode == 0, said
        else:
            assert kind == "ARG"
    environment = root / "opt" / "tierocr"
    if not whole:
        (packages,) = environment.glob("lib/python*/site-packages")
        (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield environment
    shutil.rmtree(root)  # it is large, and pytest would keep it


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def test_the_installed_service_starts_is_probed_and_stops(installed: Path, tmp_path: Path) -> None:
    environ = {"PATH": f"{installed}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environ |= {"TIEROCR_CACHE": "", "PYTHONDONTWRITEBYTECODE": "1"}
    service = stages()["service"]
    assert service.all("ENTRYPOINT") == ['["tierocr"]']
    assert service.all("CMD") == ['["cloud", "serve"]']

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
        )

    checked = run("pip", "check")
    assert checked.returncode == 0, f"something is missing: {checked.stdout}"
    where = run("python", "-c", "import tierocr.cloud.app as app; print(app.__file__)").stdout
    assert where.startswith(str(installed)), "what runs is the wheel's"
    assert run("tierocr", "--version").stdout.startswith("tierocr ")
    checked = run("tierocr", "cloud", "serve", "--allow-anonymous", "--check-config")
    assert (checked.returncode, checked.stderr) == (0, "the configuration is valid\n")

    port_file = tmp_path / "port"
    options = ("--allow-anonymous", "--pack", "edge-tiny", "--port", "0")
    with (tmp_path / "stderr").open("w+") as stderr:
        process = subprocess.Popen(
            ["tierocr", "cloud", "serve", *options, "--port-file", str(port_file)],
            cwd=tmp_path,
            env=environ | {"TIEROCR_MODEL__WARM_WIDTHS": "[128]"},
            stderr=stderr,
        )
        try:
            limit = time.monotonic() + 60
            while not port_file.exists():
                assert process.poll() is None and time.monotonic() < limit
                time.sleep(0.05)
            probe = ("python", "-m", "tierocr.cloud.probe", port_file.read_text().strip())
            assert run(*probe).returncode == 0
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
            assert run(*probe).returncode == 1
        finally:
            process.kill()
            process.wait()
            stderr.seek(0)
            assert "Traceback" not in stderr.read()
