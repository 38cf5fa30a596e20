"""The README's section "Run the edge agent", run as it is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT
from tests.fakes.environ import plain_environ

pytestmark = pytest.mark.system


def blocks() -> tuple[str, str]:
    """What is typed on the one terminal and on the other."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Run the edge agent\n")[1].split("\n## ")[0]
    one, other, *_ = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return one, other


def test_what_it_says_is_what_happens(tmp_path: Path) -> None:
    for name in ("deploy", "edge"):
        (tmp_path / name).symlink_to(ROOT / name)
    environ = plain_environ(TIEROCR_READING__RUNTIME="onnxruntime")
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}

    def terminal(typed: str) -> list[str]:
        *before, last = typed.replace(". venv/bin/activate\n", "").strip().splitlines()
        return ["bash", "-ec", "\n".join([*before, f"exec {last}"])]

    one, other = blocks()
    log = tmp_path / "stderr"
    with log.open("w") as stderr:
        agent = subprocess.Popen(terminal(one), cwd=tmp_path, env=environ, stderr=stderr)
    try:
        limit = time.monotonic() + 60
        while '"message": "ready"' not in log.read_text():
            assert agent.poll() is None and time.monotonic() < limit, log.read_text()
            time.sleep(0.05)
        done = subprocess.run(
            terminal(other), cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "results/receipt_en.jpg.json\n" in done.stdout
        while not all(
            said in log.read_text() for said in ("was here before", "may not be complete")
        ):
            assert agent.poll() is None and time.monotonic() < limit, log.read_text()
            time.sleep(0.05)
        agent.send_signal(signal.SIGINT)
        assert agent.wait(timeout=60) == 0
    finally:
        agent.kill()
        agent.wait()
    document = json.loads((tmp_path / "results" / "receipt_en.jpg.json").read_text("utf-8"))
    assert document["status"] == "final" and document["version"] == 1
    assert [p.name for p in (tmp_path / "results").iterdir()] == ["receipt_en.jpg.json"]
    assert log.read_text().startswith("the configuration is valid\n")
    assert "Traceback" not in log.read_text()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
def test_a_pack_is_signed_and_installed_as_it_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (typed,) = [b for b in re.findall(r"```\n(.*?)```", readme, re.DOTALL) if "models sign" in b]
    environ = plain_environ()
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-ec", typed],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "edge-tiny 1 is installed" in done.stdout
    assert (tmp_path / "packs" / "edge-tiny" / "pack.yaml").is_file()
