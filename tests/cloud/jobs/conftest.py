from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.conftest import Client, Serve


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.name == "nt" or os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can make a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
async def serve(serve: Serve) -> Serve:
    """As elsewhere, but decoding in threads: starting processes is not what is tested here."""

    async def start(*args: Any, **more: Any) -> Client:
        return await serve(*args, **{"decoding": {"processes": False}, **more})

    return start
