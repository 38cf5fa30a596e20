"""A file that ends the process each time it is read, as a fault in a library or a lack of memory
does: it is put aside, and costs no other file anything.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.dockerfile import ROOT
from tests.fakes.agent import DEADLY
from tests.fakes.agent_process import PATIENCE, AgentProcess, picture, until
from tests.fakes.environ import plain_environ
from tests.fakes.painted import png
from tests.fakes.rows import page
from tierocr.edge.intake import TRIES

pytestmark = pytest.mark.system


def deadly() -> bytes:
    pixels = page("deadly")
    pixels[0, 0] = DEADLY
    return png(pixels)


def test_a_deadly_file_is_put_aside_after_some_starts(tmp_path: Path) -> None:
    names = ("hello", "world", "other")
    with AgentProcess(tmp_path / "device") as agent:
        agent.put("a.png", deadly())
        for name in names:
            agent.put(f"{name}.png", picture(name))
        for _ in range(TRIES):
            agent.start(wait=False)
            until(lambda: agent.ended, lambda: agent.log)
        agent.start()
        aside = agent.state / "quarantine" / "in" / "a.png"
        until(aside.exists, lambda: agent.log)
        until(lambda: agent.finals() == {f"{n}.png.json": n for n in names}, lambda: agent.log)
        agent.stop()
        reason = aside.with_name("a.png.reason.txt").read_text()
        assert reason == f"internal: the process ended {TRIES} times while it was being read\n"
        assert agent.left() == (0, 0, []) and not list((agent.state / "attempts").iterdir())


def test_deadly_bytes_from_standard_input_become_a_failed_document(tmp_path: Path) -> None:
    config = tmp_path / "edge.yaml"
    settings = {
        "state": {"folder": str(tmp_path / "state")},
        "sources": {"stdin": True},
        "sinks": {"stdout": True},
        "outbox": {"free_bytes": 0},
    }
    config.write_text(yaml.safe_dump(settings))

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "tests.fakes.agent", str(config)],
            cwd=ROOT,
            input=deadly(),
            capture_output=True,
            env=plain_environ(),
            timeout=PATIENCE,
        )

    for _ in range(TRIES):
        done = run()
        assert done.returncode < 0 and done.stdout == b""
    done = run()
    assert done.returncode == 0, done.stderr
    assert b'"failed"' in done.stdout and b"the process ended" in done.stdout
