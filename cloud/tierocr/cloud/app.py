"""Wiring: settings and a model in, an aiohttp application out. Decides nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from aiohttp import web

from tierocr.cloud.canary import Canary
from tierocr.cloud.canary import first_check as ask_canary
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
from tierocr.cloud.service import FirstCheck, OpenModel, Service
from tierocr.cloud.settings import MIB, CloudSettings
from tierocr.cloud.tokens import TokenFile
from tierocr.shared.document import CLOUD
from tierocr.shared.engines import EngineOptions
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader

SERVICE = web.AppKey("service", Service)


def make_app(
    settings: CloudSettings,
    *,
    open_model: OpenModel | None = None,
    first_check: FirstCheck | None = None,
    decoder: Sequence[str] = COMMAND,
    disk: Disk | None = None,
) -> web.Application:
    """The application. `open_model` opens what reads, and `first_check` says whether it is fit; by
    default what the settings name and its canary. `decoder`: the command of a decoder process.
    `disk`: where jobs are kept.

    Raises TierocrError `config_invalid` when it is not clear who may use the service.
    """
    settings.auth.check()
    tokens = TokenFile(settings.auth.tokens_file) if settings.auth.tokens_file else None
    metrics = Metrics()
    service = Service(
        settings,
        open_model or (lambda: model_of(settings)),
        metrics,
        _page_source(settings, metrics, decoder),
        first_check or (lambda reader: canary_of(settings, reader)),
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
    app.add_routes(Handlers(settings, service, metrics).routes())
    app.cleanup_ctx.append(_running)
    _add_jobs(app, settings, disk)
    return app


def model_of(settings: CloudSettings) -> Reader:
    """The model that the settings name. Raises TierocrError like `open_reader`."""
    model = settings.model
    options = EngineOptions(
        device=model.device,
        precision=model.precision,
        threads=model.threads,
        streams=1,  # the device is given one batch at a time, and that has all threads
        cache_dir=model.cache_dir,
    )
    return open_reader(model.pack, runtime=model.runtime, options=options, source=CLOUD)


def canary_of(settings: CloudSettings, reader: Reader) -> Canary | None:
    """What the pack's canary page says of a reader; None where something else reads.

    Raises TierocrError `model_invalid` when it is misread.
    """
    own = reader.info.pack == settings.model.pack
    return ask_canary(find_pack(settings.model.pack), reader) if own else None


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


def _add_jobs(app: web.Application, settings: CloudSettings, disk: Disk | None) -> None:
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

    app.add_routes(JobHandlers(settings, app[SERVICE], registry, runner).routes())
    app.cleanup_ctx.append(running)
    app.on_shutdown.append(stop_watching)


async def _running(app: web.Application) -> AsyncIterator[None]:
    app[SERVICE].start()
    yield
    await app[SERVICE].stop()
