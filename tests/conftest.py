"""Nothing that a user's machine keeps (compiled networks, tuning) has a say in the tests."""

from __future__ import annotations

import os

os.environ["TIEROCR_CACHE"] = ""
