"""The process: listen, load, announce, serve until told to stop, stop in order.

Health is answered from the first moment on; the address is announced once the model is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from tierocr.cloud.app import SERVICE, make_app
from tierocr.cloud.connections import set_up
from tierocr.cloud.model import OpenReaders
from tierocr.cloud.service import Service
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tls import ServerTls, server_tls
from tierocr.shared.errors import TierocrError
from tierocr.shared.switching import hand_over_soon

_log = logging.getLogger(__name__)


async def run(settings: CloudSettings, *, readers: OpenReaders | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises TierocrError: `config_invalid` when it cannot listen, or what loading the model raised.
    """
    hand_over_soon()
    tls = server_tls(settings)
    app = make_app(settings, readers=readers)
    stopping = _stop_signal()
    with _reload_signal(app[SERVICE]):
        async with set_up(app, settings) as runner:
            port = await _listen(runner, settings.listen.host, settings.listen.port, tls)
            loaded = asyncio.ensure_future(app[SERVICE].loaded())
            stopped = asyncio.ensure_future(stopping.wait())
            await asyncio.wait((loaded, stopped), return_when=asyncio.FIRST_COMPLETED)
            if loaded.done():
                loaded.result()
                scheme = "https" if tls else "http"
                _announce(scheme, settings.listen.host, port, settings.listen.port_file)
            await stopped
            app[SERVICE].drain()
            loaded.cancel()
            await asyncio.gather(loaded, return_exceptions=True)


async def _listen(runner: web.AppRunner, host: str, port: int, tls: ServerTls | None) -> int:
    """Open the port; returns its real number."""
    try:
        context = tls.context if tls else None
        await web.TCPSite(runner, host, port, ssl_context=context).start()
    except OSError as error:
        raise TierocrError("config_invalid", f"cannot listen on {host}:{port}: {error}") from error
    real: int = runner.addresses[0][1]
    return real


def _announce(scheme: str, host: str, port: int, port_file: Path | None) -> None:
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on {scheme}://{shown}:{port}", file=sys.stderr, flush=True)
    if port_file is not None:
        temporary = port_file.with_name(f".{port_file.name}.part")
        temporary.write_text(f"{port}\n", encoding="ascii")
        temporary.replace(port_file)


@contextlib.contextmanager
def _reload_signal(service: Service) -> Iterator[None]:
    """While inside, SIGHUP opens the model anew, and ends nothing while there is none to be had, as
    during the start or the end; where there is no such signal (Windows), nothing does.
    """
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def reload() -> None:
        try:
            await service.reload()
        except Exception as error:  # whatever a runtime raises: the old model goes on
            _log.error("the model could not be opened anew: %s", error)

    def begin() -> None:
        task = asyncio.create_task(reload(), name="tierocr-reload")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    number = getattr(signal, "SIGHUP", None)
    if number is None:
        yield
        return
    loop.add_signal_handler(number, begin)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)
        for task in tasks:
            task.cancel()


def _stop_signal() -> asyncio.Event:
    """An event that is set when the process is told to stop."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Where the loop has no signal handlers (Windows), Ctrl-C still ends the process.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, event.set)
    return event
