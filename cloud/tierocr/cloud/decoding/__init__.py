"""Decoding of whole files in processes of their own.

A file from outside may make a decoder hang, crash or ask for all memory. Here it does so in a
process that can be stopped, and that costs nobody but the page itself.
"""

import os

SUPPORTED = hasattr(os, "memfd_create") and hasattr(os, "preadv")
"""Whether this system can do that: shared memory without a name that a process inherits."""
