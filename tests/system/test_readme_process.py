"""The README's section "Run the cloud", run as it is written."""

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
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)\n")


def blocks() -> tuple[str, str]:
    """What is typed on the one terminal and on the other."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Run the cloud\n")[1].split("\n## ")[0]
    one, other, *_ = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return one, other


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_what_it_says_is_what_happens(tmp_path: Path) -> None:
    for name in ("deploy", "edge"):
        (tmp_path / name).symlink_to(ROOT / name)
    environ = plain_environ(TIEROCR_LISTEN__PORT="0", TIEROCR_MODEL__PACK="edge-tiny")
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}

    def terminal(typed: str, port: str = "8501") -> list[str]:
        here = typed.replace(". venv/bin/activate\n", "").replace("8501", port)
        return ["bash", "-ec", here.replace("tierocr cloud serve", "exec tierocr cloud serve")]

    one, other = blocks()
    with (tmp_path / "stderr").open("w") as stderr:
        service = subprocess.Popen(terminal(one), cwd=tmp_path, env=environ, stderr=stderr)
    try:
        limit = time.monotonic() + 60
        while (told := LISTENING.search((tmp_path / "stderr").read_text())) is None:
            assert service.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        done = subprocess.run(
            terminal(other, told[1]),
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
        )
        service.send_signal(signal.SIGINT)
        assert service.wait(timeout=60) == 0
    finally:
        service.kill()
        service.wait()
    assert (done.returncode, done.stderr) == (0, "")
    assert '{"status": "ready"}' in done.stdout and '"state": "queued"' in done.stdout
    assert "TOTAL" in done.stdout
    assert 'tierocr_requests_total{code="ok",route="/v1/refine"} 1.0' in done.stdout
    document = json.loads((tmp_path / "receipt.json").read_text(encoding="utf-8"))
    assert document["status"] == "final"
    assert (tmp_path / "kiosk-7.token").stat().st_mode & 0o777 == 0o600
    assert "Traceback" not in (tmp_path / "stderr").read_text()
