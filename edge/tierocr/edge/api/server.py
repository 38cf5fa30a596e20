"""The API as a server that runs as long as a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tierocr.edge.api.guard import guard, is_loopback
from tierocr.edge.api.handlers import Handlers, Parts
from tierocr.shared.errors import TierocrError


def make_app(parts: Parts) -> web.Application:
    """The application."""
    api = parts.settings.api
    token = api.token.get_secret_value() if api.token else None
    app = web.Application(
        middlewares=[guard(parts.metrics, token=token, local=is_loopback(api.host))],
        client_max_size=parts.settings.reading.max_bytes + (1 << 20),
    )
    app.add_routes(Handlers(parts).routes())
    return app


@asynccontextmanager
async def serving(parts: Parts) -> AsyncIterator[str]:
    """Listen until the end of the block; gives the address. Raises TierocrError `config_invalid`
    where that does not work.
    """
    api = parts.settings.api
    runner = web.AppRunner(make_app(parts), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, api.host, api.port).start()
        except OSError as error:
            message = f"api: cannot listen on {api.host}:{api.port}: {error.strerror}"
            raise TierocrError("config_invalid", message) from error
        host, port = runner.addresses[0][:2]
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        await parts.recent.close()
        await runner.cleanup()
