"""The agent as a real process over folders of its own, with painted pages to read."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.deploy.dockerfile import ROOT
from tests.fakes.environ import plain_environ
from tests.fakes.painted import png
from tests.fakes.rows import page

PATIENCE = 60.0
"""Seconds; what is judged is that nothing waits for ever."""


def words(count: int) -> list[str]:
    """So many different words of which the edge is unsure."""
    letters = "abcdefghijklmnop"
    return [
        f"ba{letters[n // 256 % 16]}{letters[n // 16 % 16]}{letters[n % 16]}" for n in range(count)
    ]


def picture(word: str) -> bytes:
    """A page with one unsure and one sure line."""
    return png(page(word, "sun"))


def until(met: Callable[[], bool], what: Callable[[], object] = lambda: "") -> None:
    """Wait for something that has to come."""
    limit = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < limit, what()
        time.sleep(0.05)


class AgentProcess:
    """One device: its folders and settings stay, the process may die at any time."""

    def __init__(self, root: Path, **settings: dict[str, Any]) -> None:
        self.root, self.inbox, self.out = root, root / "in", root / "out"
        self.state = root / "state"
        self.inbox.mkdir(parents=True)
        self.settings: dict[str, dict[str, Any]] = {
            "state": {"folder": str(self.state)},
            "sources": {"watch": [{"folder": str(self.inbox), "stable_seconds": 0.1}]},
            "sinks": {"folder": [{"folder": str(self.out)}]},
            "outbox": {"retry_seconds": 0.05, "retry_max_seconds": 0.5, "free_bytes": 0},
        }
        for section, values in settings.items():
            self.settings[section] = {**self.settings.get(section, {}), **values}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True, **environ: str) -> None:
        """Begin; `wait` until it is ready."""
        config = self.root / "edge.yaml"
        config.write_text(yaml.safe_dump(self.settings))
        before = self.log.count('"ready"')
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fakes.agent", str(config)],
                cwd=ROOT,
                env=plain_environ(**environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if wait:
            until(lambda: self.log.count('"ready"') > before or self.ended, lambda: self.log)
            assert not self.ended, self.log

    def kill(self) -> None:
        """As if the power went."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """In order; it has to end well."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.log
        assert "Traceback" not in self.log, self.log

    def __enter__(self) -> AgentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def log(self) -> str:
        path = self.root / "log"
        return path.read_text() if path.exists() else ""

    def events(self, message: str) -> list[dict[str, Any]]:
        """Log lines of one kind."""
        lines = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("message") == message]

    @property
    def memory(self) -> int:
        """Bytes that the process holds."""
        assert self.process is not None
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def put(self, name: str, data: bytes) -> Path:
        """A file that appears whole."""
        part = self.root / "part"
        part.write_bytes(data)
        return part.rename(self.inbox / name)

    def results(self, ending: str = ".json") -> dict[str, dict[str, Any]]:
        """Documents in the folder sink by their names."""
        found = {}
        for path in sorted(self.out.rglob(f"*{ending}")) if self.out.exists() else ():
            try:
                found[str(path.relative_to(self.out))] = json.loads(path.read_bytes())
            except FileNotFoundError:
                continue
        return found

    def finals(self) -> dict[str, str]:
        """First line of every final document by its name."""
        return {
            name: document["pages"][0]["lines"][0]["text"]
            for name, document in self.results().items()
            if document["status"] == "final" and not name.endswith(".provisional.json")
        }

    def wait_for_finals(self, words: Iterable[str]) -> None:
        """Until there is a final document for each of these pages, refined."""
        wanted = {f"{word}.png.json": word.upper() for word in words}
        until(
            lambda: self.finals() == wanted or self.ended,
            lambda: (set(wanted.items()) ^ set(self.finals().items()), self.log[-3000:]),
        )
        assert not self.ended, self.log[-3000:]

    def left(self) -> tuple[int, int, list[str]]:
        """Unfinished documents, their pages, and files beside the rows; only while it is not
        running.
        """
        with closing(sqlite3.connect(self.state / "outbox.sqlite")) as connection:
            ((documents,),) = connection.execute(
                "SELECT COUNT(*) FROM documents WHERE finished IS NULL"
            )
            ((pages,),) = connection.execute("SELECT COUNT(*) FROM pages")
        files = [p.name for n in ("crops", "originals") for p in (self.state / n).iterdir()]
        return documents, pages, files

    @property
    def held_bytes(self) -> int:
        """Crops on the disk now."""
        total = 0
        for path in (self.state / "crops").iterdir():
            try:
                total += path.stat().st_size
            except FileNotFoundError:
                continue
        return total
