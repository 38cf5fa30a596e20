"""Wiring: settings and a model in, an aiohttp application out. Decides nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from aiohttp import web

from tierocr.cloud import accelerators
from tierocr.cloud.accelerators import Probe
from tierocr.cloud.decoding.isolated import Isolated
from tierocr.cloud.decoding.process import COMMAND
from tierocr.cloud.decoding.source import InThreads, PageSource
from tierocr.cloud.handlers import Handlers
from tierocr.cloud.jobs.disk import Disk
from tierocr.cloud.jobs.handlers import JobHandlers, no_jobs
from tierocr.cloud.jobs.registry import JobRegistry
from tierocr.cloud.jobs.runner import JobRunner
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.middleware import authentication, envelope
from tierocr.cloud.model import FirstCheck, OpenReaders, first_check_of, open_readers
from tierocr.cloud.quotas import Quotas
from tierocr.cloud.service import Service
from tierocr.cloud.settings import MIB, CloudSettings
from tierocr.cloud.tokens import TokenFile

SERVICE = web.AppKey("service", Service)


def make_app(
    settings: CloudSettings,
    *,
    readers: OpenReaders | None = None,
    first_check: FirstCheck | None = None,
    decoder: Sequence[str] = COMMAND,
    disk: Disk | None = None,
    probes: Sequence[Probe] | None = None,
) -> web.Application:
    """The application. `readers` opens what reads, one for each worker, and `first_check` says
    whether it is fit; by default what the settings name and its canary. `decoder`: the command of
    a decoder process. `disk`: where jobs are kept. `probes`: tell of the machine's accelerators.

    Raises TierocrError `config_invalid` when it is not clear who may use the service.
    """
    settings.auth.check()
    tokens = TokenFile(settings.auth.tokens_file) if settings.auth.tokens_file else None
    metrics = Metrics()
    service = Service(
        settings,
        readers or (lambda: open_readers(settings)),
        metrics,
        _page_source(settings, metrics, decoder),
        first_check or (lambda reader: first_check_of(settings, reader)),
    )
    app = web.Application(
        middlewares=[envelope(metrics), authentication(settings, tokens)],
        client_max_size=max(
            settings.limits.refine_body_bytes,
            settings.limits.file_body_bytes,
            settings.jobs.body_bytes + MIB,  # a form has headers of its own
        ),
    )
    app[SERVICE] = service
    requests = Quotas(settings.quotas.requests, "requests")
    told = accelerators.probes() if probes is None else probes
    app.add_routes(Handlers(settings, service, metrics, requests, told).routes())
    app.cleanup_ctx.append(_running)
    _add_jobs(app, settings, disk, requests)
    return app


def _page_source(settings: CloudSettings, metrics: Metrics, decoder: Sequence[str]) -> PageSource:
    decoding = settings.decoding
    if not decoding.processes:
        return InThreads()
    return Isolated(
        memory_bytes=decoding.memory_bytes,
        page_seconds=decoding.page_seconds,
        command=decoder,
        on_lost=metrics.decoder_lost,
    )


def _add_jobs(
    app: web.Application, settings: CloudSettings, disk: Disk | None, requests: Quotas
) -> None:
    if settings.jobs.folder is None:
        app.add_routes(no_jobs())
        return
    registry = JobRegistry(settings.jobs, settings.jobs.folder, disk)
    runner = JobRunner(registry, app[SERVICE])

    async def running(app: web.Application) -> AsyncIterator[None]:
        await registry.start()
        runner.start()
        yield
        await runner.stop()
        await registry.stop()

    async def stop_watching(app: web.Application) -> None:
        registry.stop_watching()

    app.add_routes(JobHandlers(settings, app[SERVICE], registry, runner, requests).routes())
    app.cleanup_ctx.append(running)
    app.on_shutdown.append(stop_watching)


async def _running(app: web.Application) -> AsyncIterator[None]:
    app[SERVICE].start()
    yield
    await app[SERVICE].stop()
