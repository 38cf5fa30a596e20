"""Keeping a long-running process small: large buffers go back to the system when they are freed.

Pages and tensors are megabytes each. By default glibc learns to keep such blocks in its heap,
where one small survivor pins all of it. A fixed threshold makes it map and unmap them one by
one. Does nothing with another C library, or where the threshold was set from outside.
"""

from __future__ import annotations

import ctypes
import os

_M_MMAP_THRESHOLD = -3  # <malloc.h>
LARGE_BLOCK = 1 << 20


def return_large_blocks() -> bool:
    """Call once at process start; whether it took effect."""
    if "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # musl, macOS; Windows wants a name
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK))
