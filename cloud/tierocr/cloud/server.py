"""The process: listen, load, announce, serve until told to stop, stop in order.

Health is answered from the first moment on; the address is announced once the model is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from aiohttp import web

from tierocr.cloud.app import SERVICE, make_app
from tierocr.cloud.service import OpenModel
from tierocr.cloud.settings import CloudSettings
from tierocr.shared.errors import TierocrError


async def run(settings: CloudSettings, *, open_model: OpenModel | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises TierocrError: `config_invalid` when it cannot listen, or what loading the model raised.
    """
    app = make_app(settings, open_model=open_model)
    stopping = _stop_signal()
    runner = web.AppRunner(
        app,
        handler_cancellation=True,  # a client that hangs up frees its place in the queue
        access_log=None,
        shutdown_timeout=settings.stop.grace_seconds,
    )
    await runner.setup()
    try:
        port = await _listen(runner, settings.listen.host, settings.listen.port)
        loaded = asyncio.ensure_future(app[SERVICE].loaded())
        stopped = asyncio.ensure_future(stopping.wait())
        await asyncio.wait((loaded, stopped), return_when=asyncio.FIRST_COMPLETED)
        if loaded.done():
            loaded.result()
            _announce(settings.listen.host, port, settings.listen.port_file)
        await stopped
        app[SERVICE].drain()
        loaded.cancel()
        await asyncio.gather(loaded, return_exceptions=True)
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> int:
    """Open the port; returns its real number."""
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise TierocrError("config_invalid", f"cannot listen on {host}:{port}: {error}") from error
    real: int = runner.addresses[0][1]
    return real


def _announce(host: str, port: int, port_file: Path | None) -> None:
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{port}", file=sys.stderr, flush=True)
    if port_file is not None:
        temporary = port_file.with_name(f".{port_file.name}.part")
        temporary.write_text(f"{port}\n", encoding="ascii")
        temporary.replace(port_file)


def _stop_signal() -> asyncio.Event:
    """An event that is set when the process is told to stop."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Where the loop has no signal handlers (Windows), Ctrl-C still ends the process.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, event.set)
    return event
