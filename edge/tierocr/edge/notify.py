"""Telling systemd how the agent is: `sd_notify(3)`, a datagram to the socket that it names.

Does nothing where nobody listens. https://www.freedesktop.org/software/systemd/man/sd_notify.html
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping

READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Notifier:
    """`environ`: of the process; `NOTIFY_SOCKET` and `WATCHDOG_USEC` are looked at."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """See the class."""
        name = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + name[1:] if name.startswith("@") else name
        try:
            self.watchdog_seconds: float | None = int(environ["WATCHDOG_USEC"]) / 1e6
        except (KeyError, ValueError):
            self.watchdog_seconds = None

    def tell(self, *states: str) -> None:
        """Send these; a listener that is gone is no failure of ours."""
        family = getattr(socket, "AF_UNIX", None)
        if not self._address or family is None:
            return
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.sendto("\n".join(states).encode(), self._address)
