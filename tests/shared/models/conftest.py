"""Packs made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.packs import write_pack


@pytest.fixture
def make_pack(tmp_path: Path) -> Callable[..., Path]:
    """Write a pack: make_pack(name, place, change=function of the manifest) -> its folder."""

    def run(
        name: str = "small",
        place: str = "packs",
        change: Callable[[dict[str, Any]], object] | None = None,
    ) -> Path:
        return write_pack(tmp_path / place / name, change=change)

    return run
