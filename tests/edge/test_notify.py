from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tierocr.edge.notify import READY, WATCHDOG, Notifier


@pytest.mark.parametrize("abstract", [False, True])
def test_states_reach_the_socket(tmp_path: Path, abstract: bool) -> None:
    name = f"@tierocr-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name[1:] if abstract else name)
        listener.settimeout(10)
        notifier = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000"})
        assert notifier.watchdog_seconds == 30
        notifier.tell(READY, WATCHDOG)
        assert listener.recv(100) == b"READY=1\nWATCHDOG=1"


def test_where_nobody_listens_nothing_happens(tmp_path: Path) -> None:
    Notifier({}).tell(READY)
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).tell(READY)
    assert Notifier({"WATCHDOG_USEC": "often"}).watchdog_seconds is None
