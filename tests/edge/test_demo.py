"""The demo where it cannot start; the whole of it runs among the system tests."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tierocr.edge.demo import run_demo
from tierocr.shared.errors import TierocrError


async def test_a_cloud_that_does_not_start_is_told_with_its_reason(tmp_path: Path) -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(TierocrError) as caught:
        await run_demo(tmp_path / "out", cloud_pack="no-such-pack", console=console)
    assert caught.value.code == "unavailable"
    assert "no-such-pack" in caught.value.message
    assert not (tmp_path / "out").exists()
