"""Nothing that a user's machine keeps (compiled networks, tuning) has a say in the tests."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ["TIEROCR_CACHE"] = ""

# How long a case takes says something about the machine, and nothing about the code.
settings.register_profile("tierocr", deadline=None)
settings.load_profile("tierocr")
