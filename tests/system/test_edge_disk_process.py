"""The disk under the outbox, or under the results, fills up and is freed again: no page is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.agent_process import AgentProcess, picture, until, words
from tests.fakes.cloud import fake_cloud, right

pytestmark = pytest.mark.system

Mount = Callable[[Path], None]


@pytest.fixture
def small_disk() -> Iterator[Mount]:
    """Put a file system of two MiB at a place."""
    mounted: list[Path] = []

    def mount(place: Path) -> None:
        place.mkdir(parents=True)
        if shutil.which("mount") is None:
            pytest.skip("there is no mount command")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True
        )
        if done.returncode:
            pytest.skip(f"mounting is not allowed: {done.stderr.decode().strip()}")
        mounted.append(place)

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """Leave no byte."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                file.write(os.urandom(size))
            except OSError:
                size //= 2
    return filler


def test_a_full_disk_under_the_outbox(tmp_path: Path, small_disk: Mount) -> None:
    names = words(12)
    root = tmp_path / "device"
    with fake_cloud(right) as cloud:
        agent = AgentProcess(
            root,
            cloud={"upload": True, "url": cloud.url, "threshold": 0.97, "max_share": 1.0},
        )
        small_disk(agent.state)
        with agent:
            agent.start()
            for name in names[:4]:
                agent.put(f"{name}.png", picture(name))
            agent.wait_for_finals(names[:4])
            filler = fill(agent.state)
            for name in names[4:]:
                agent.put(f"{name}.png", picture(name))
            until(lambda: bool(agent.events("nothing comes in for now")), lambda: agent.log)
            assert "full" in agent.events("nothing comes in for now")[0]["reason"]
            assert not agent.ended and set(agent.finals()) == {f"{n}.png.json" for n in names[:4]}
            filler.unlink()
            agent.wait_for_finals(names)
            assert agent.events("documents come in again")
            agent.stop()
            assert agent.left() == (0, 0, [])


def test_killed_while_the_disk_is_full(tmp_path: Path, small_disk: Mount) -> None:
    names = words(6)
    agent = AgentProcess(tmp_path / "device")
    small_disk(agent.state)
    with agent:
        agent.start()
        filler = fill(agent.state)
        for name in names:
            agent.put(f"{name}.png", picture(name))
        until(lambda: bool(agent.events("nothing comes in for now")), lambda: agent.log)
        agent.kill()
        agent.start()  # the disk is still full
        until(lambda: len(agent.events("nothing comes in for now")) == 2, lambda: agent.log)
        filler.unlink()
        until(lambda: agent.finals() == {f"{n}.png.json": n for n in names}, lambda: agent.log)
        agent.stop()
        assert agent.left() == (0, 0, [])


def test_a_full_disk_under_the_results(tmp_path: Path, small_disk: Mount) -> None:
    names = words(6)
    agent = AgentProcess(tmp_path / "device")
    small_disk(agent.out)
    with agent:
        filler = fill(agent.out)
        agent.start()
        for name in names:
            agent.put(f"{name}.png", picture(name))
        until(lambda: bool(agent.events("not delivered")), lambda: agent.log)
        assert "full" in agent.events("not delivered")[0]["error"]
        filler.unlink()
        until(lambda: agent.finals() == {f"{n}.png.json": n for n in names}, lambda: agent.log)
        agent.stop()
        assert agent.left() == (0, 0, [])
        assert {p.name for p in agent.out.iterdir()} == {f"{n}.png.json" for n in names}
