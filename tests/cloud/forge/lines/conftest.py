from __future__ import annotations

import pytest

from tierocr.cloud.forge.sample_pages.fonts import load
from tierocr.shared.errors import TierocrError


@pytest.fixture
def installed_fonts() -> None:
    try:
        load("sans", 10), load("mono", 10)
    except TierocrError as error:
        pytest.skip(error.message)
