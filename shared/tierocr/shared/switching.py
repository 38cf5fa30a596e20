"""How a process whose threads hand work to each other shares the interpreter among them."""

from __future__ import annotations

import sys

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter when others wait for it. With Python's own 5 ms a
device stands idle while its thread, back from the network, waits for the event loop, and a page
waits at each thread that it passes through.
"""


def hand_over_soon() -> None:
    """Call once at process start."""
    sys.setswitchinterval(SWITCH_SECONDS)
