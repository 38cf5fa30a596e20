"""The health check of containers."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.cloud.conftest import Serve
from tests.cloud.test_tls import UNCLOSED, service
from tests.fakes.certificates import made
from tierocr.cloud import probe
from tierocr.cloud.app import SERVICE

pytestmark = UNCLOSED


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr("sys.argv", ["probe", *arguments])
    with pytest.raises(SystemExit) as caught:
        probe.main()
    return caught.value.code


async def test_it_says_what_the_service_says(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await serve()
    port = str(client.port)
    assert await asyncio.to_thread(exit_code, monkeypatch, port) == 0
    monkeypatch.setenv(probe.PORT_VARIABLE, port)
    assert await asyncio.to_thread(exit_code, monkeypatch) == 0
    assert client.app is not None
    client.app[SERVICE].drain()
    assert await asyncio.to_thread(exit_code, monkeypatch) == 1


async def test_it_speaks_tls_where_the_service_does(tmp_path: Path) -> None:
    files = made(tmp_path, trustme.CA())
    async with service(tmp_path, files.mutual("optional")) as url:
        assert await asyncio.to_thread(probe.is_ready, int(url.rpartition(":")[2]))
    (tmp_path / "port").unlink()
    async with service(tmp_path, files.mutual()) as url:
        assert not await asyncio.to_thread(probe.is_ready, int(url.rpartition(":")[2]))


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert not probe.is_ready(port)
