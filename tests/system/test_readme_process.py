"""The README's section "Run the cloud", run as it is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT

pytestmark = pytest.mark.system


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
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TIEROCR_")}
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}
    environ |= {
        "TIEROCR_CACHE": "",
        "TIEROCR_LISTEN__PORT": port,
        "TIEROCR_MODEL__PACK": "edge-tiny",
    }

    def terminal(typed: str) -> list[str]:
        here = typed.replace(". venv/bin/activate\n", "").replace("8501", port)
        return ["bash", "-ec", here.replace("tierocr cloud serve", "exec tierocr cloud serve")]

    one, other = blocks()
    with (tmp_path / "stderr").open("w") as stderr:
        service = subprocess.Popen(terminal(one), cwd=tmp_path, env=environ, stderr=stderr)
    try:
        limit = time.monotonic() + 60
        while f"listening on http://127.0.0.1:{port}\n" not in (tmp_path / "stderr").read_text():
            assert service.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        done = subprocess.run(
            terminal(other), cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
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
