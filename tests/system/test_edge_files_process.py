"""Odd files, as the rules say; many files at once in little memory."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pikepdf
import pytest

from tests.fakes.agent_process import AgentProcess, picture, until, words
from tests.fakes.painted import png
from tests.fakes.rows import page, tiff

pytestmark = pytest.mark.system

GBK = os.fsdecode("扫描件.png".encode("gbk"))
NFD = "u\u0308bersicht.png"


def device(root: Path, **watch: object) -> AgentProcess:
    inbox = root / "device" / "in"
    settings = {"folder": str(inbox), "stable_seconds": 0.3, "patience_seconds": 2.0, **watch}
    return AgentProcess(root / "device", sources={"watch": [settings]})


def aside(agent: AgentProcess) -> dict[str, str]:
    """Files that were put aside, and why."""
    folder = agent.state / "quarantine" / "in"
    if not folder.exists():
        return {}
    ending = ".reason.txt"
    return {
        p.name.removesuffix(ending): p.read_text().split(":")[0] for p in folder.glob(f"*{ending}")
    }


def encrypted() -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(out, encryption=pikepdf.Encryption(owner="a", user="b"))
    return out.getvalue()


def test_odd_files_are_handled_as_the_rules_say(tmp_path: Path) -> None:
    whole = picture("hello")
    with device(tmp_path, recursive=True) as agent:
        agent.settings["reading"] = {"max_bytes": 1 << 20}
        (agent.inbox / "sub").mkdir()
        agent.put("empty.png", b"")
        agent.put("cut.png", whole[: len(whole) // 2])
        agent.put("locked.pdf", encrypted())
        agent.put("text.jpg", b"this is no picture at all, only some text\n")
        agent.put("note.txt", b"not looked at")
        agent.put(".hidden.png", whole)
        with agent.put("huge.tif", b"II*\0").open("r+b") as file:
            file.truncate(1 << 30)
        agent.put(GBK, picture("gbk"))
        agent.put(NFD, picture("nfd"))
        agent.put("sub/deep.png", picture("deep"))
        agent.put("PAGE.PNG", picture("upper"))
        agent.put("three.tif", tiff([page("one"), page("two"), page("three")]))
        (agent.inbox / "link.png").symlink_to("/etc/hostname")
        (agent.inbox / "loop").symlink_to(agent.inbox)
        os.mkfifo(agent.inbox / "pipe.png")
        agent.start()
        # written slowly, in steps that are shorter than the wait for stillness
        with (agent.inbox / "slow.png").open("wb") as file:
            for part in range(8):
                file.write(slices("slow", 8)[part])
                file.flush()
                time.sleep(0.1)
        wanted = {GBK, NFD, "sub/deep.png", "PAGE.PNG", "three.tif", "slow.png"}
        until(lambda: set(agent.finals()) == {f"{n}.json" for n in wanted}, lambda: agent.log)
        until(lambda: len(aside(agent)) == 5, lambda: (aside(agent), agent.log))
        assert aside(agent) == {
            "empty.png": "bad_image",
            "cut.png": "bad_image",
            "locked.pdf": "encrypted",
            "text.jpg": "unsupported_format",
            "huge.tif": "too_large",
        }
        assert len(agent.results()["three.tif.json"]["pages"]) == 3
        agent.stop()
        left = {p.name for p in agent.inbox.iterdir()}
        assert left == {
            *("note.txt", ".hidden.png", "sub", "link.png", "loop", "pipe.png"),
            *(n for n in wanted if "/" not in n),
        }
        assert (agent.inbox / GBK).read_bytes() == picture("gbk"), "originals are never altered"
        assert "Traceback" not in agent.log


def slices(word: str, count: int) -> list[bytes]:
    data = picture(word)
    step = -(-len(data) // count)
    return [data[i * step : (i + 1) * step] for i in range(count)]


def test_names_come_again_and_bytes_come_again(tmp_path: Path) -> None:
    with device(tmp_path, processed="delete") as agent:
        agent.start()
        for n, word in enumerate(["hello", "world", "hello"], 1):
            agent.put("scan.png", picture(word))
            until(lambda: not list(agent.inbox.iterdir()), lambda: agent.log)
            until(lambda n=n: len(agent.finals()) == min(n, 2))  # type: ignore[misc]
        assert agent.finals() == {"scan.png.json": "hello", "scan.2.png.json": "world"}
        assert len(agent.events("the same document was here before")) == 1
        agent.put("other.png", picture("world"))
        until(lambda: len(agent.events("the same document was here before")) == 2)
        agent.stop()
        assert len(agent.finals()) == 2


def test_a_partial_file_is_completed_later(tmp_path: Path) -> None:
    whole = picture("hello")
    with device(
        tmp_path, patience_seconds=60, processed="move", processed_folder=str(tmp_path / "done")
    ) as agent:
        agent.start()
        agent.put("a.png", whole[: len(whole) // 2])
        until(lambda: bool(agent.events("the file may not be complete, it is tried again")))
        assert agent.finals() == {} and aside(agent) == {}
        agent.put("a.png", whole)
        until(lambda: agent.finals() == {"a.png.json": "hello"}, lambda: agent.log)
        until(lambda: (tmp_path / "done" / "a.png").exists())
        agent.stop()
        assert (tmp_path / "done" / "a.png").read_bytes() == whole


@pytest.mark.parametrize("watch", ["poll", "notify"])
def test_files_are_found_by_looking_and_by_being_told(tmp_path: Path, watch: str) -> None:
    with device(tmp_path, watch=watch, poll_seconds=0.1) as agent:
        agent.start()
        agent.put("a.png", picture("hello"))
        until(lambda: agent.finals() == {"a.png.json": "hello"})
        agent.stop()
        (event,) = agent.events("watching")
        assert event["polling"] == (watch == "poll")


def many(tmp_path: Path, count: int) -> None:
    names = words(count)
    scan = page("a", *(["bcdefgh" * 6] * 3))
    with device(tmp_path) as agent:
        for n, name in enumerate(names):
            scan[:8, :8] = (n % 256, n // 256, 0)  # each file has bytes of its own
            agent.put(f"{name}.png", png(scan))
        agent.start()
        most = 0

        def read() -> bool:
            nonlocal most
            most = max(most, agent.memory)
            return len(list(agent.out.glob("*.json"))) >= count if agent.out.exists() else False

        until(read, lambda: agent.log[-2000:])
        assert most < 500 << 20, f"{most >> 20} MiB"
        agent.stop()
        assert agent.left() == (0, 0, [])


def test_a_hundred_files_at_once(tmp_path: Path) -> None:
    many(tmp_path, 100)


@pytest.mark.soak
def test_a_thousand_files_at_once(tmp_path: Path) -> None:
    many(tmp_path, 1000)


# -- the process -------------------------------------------------------------------------------


def test_standard_input_and_output(tmp_path: Path) -> None:
    config = tmp_path / "edge.yaml"
    config.write_text(
        f"state: {{folder: {tmp_path}/state}}\n"
        "sources: {stdin: true}\nsinks: {stdout: true}\noutbox: {free_bytes: 0}\n"
    )
    for _ in range(2):  # the same bytes again: a quiet duplicate
        done = subprocess.run(
            [sys.executable, "-m", "tests.fakes.agent", str(config)],
            input=picture("hello"),
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.count(b"\n") == (1 if b'"read"' in done.stderr else 0)
        assert b"Traceback" not in done.stderr


def test_systemd_is_told(tmp_path: Path) -> None:
    with device(tmp_path) as agent, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(30)
        agent.start(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="300000")
        told = {listener.recv(100) for _ in range(5)}
        assert told == {b"READY=1", b"WATCHDOG=1"}
        assert agent.process is not None
        agent.process.send_signal(signal.SIGTERM)
        until(lambda: listener.recv(100) == b"STOPPING=1")
        assert agent.process.wait(30) == 0
