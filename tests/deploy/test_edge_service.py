"""The unit of systemd: well formed, hardened, and in step with the agent's settings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.models.store import INSTALLED
from tierocr.shared.places import VARIABLE
from tierocr.shared.settings import load_settings

UNIT = ROOT / "deploy" / "tierocr-edge.service"
ANALYZE = shutil.which("systemd-analyze")


def service() -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            found[match[1]].append(match[2])
    return found


def test_it_is_watched_limited_and_hardened() -> None:
    unit = service()
    expected = {
        "Type": "notify",
        "Restart": "on-failure",
        "WatchdogSec": "30",
        "ProtectSystem": "strict",
        "NoNewPrivileges": "yes",
        "CapabilityBoundingSet": "",
        "MemoryMax": "1536M",
        "User": "tierocr",
    }
    assert {key: unit[key] for key in expected} == {k: [v] for k, v in expected.items()}
    assert int(unit["TimeoutStopSec"][0]) > EdgeSettings().stop.grace_seconds


def test_what_it_sets_is_known() -> None:
    environ = dict(pair.split("=", 1) for pair in service()["Environment"])
    settings = load_settings(EdgeSettings, file=None, environ=environ, overrides={})
    assert settings.state.folder == Path("/var/lib/tierocr/state")
    assert {INSTALLED, VARIABLE} <= set(environ)


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    copy.write_text(text.replace("/opt/tierocr/bin/tierocr", sys.executable))
    assert ANALYZE is not None
    done = subprocess.run([ANALYZE, "verify", copy], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
