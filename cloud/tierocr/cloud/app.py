"""Wiring: settings and a model in, an aiohttp application out. Decides nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp import web

from tierocr.cloud.handlers import Handlers
from tierocr.cloud.metrics import Metrics
from tierocr.cloud.middleware import authentication, envelope
from tierocr.cloud.service import OpenModel, Service
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tokens import TokenFile
from tierocr.shared.document import CLOUD
from tierocr.shared.engines import EngineOptions
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader

SERVICE = web.AppKey("service", Service)


def make_app(settings: CloudSettings, *, open_model: OpenModel | None = None) -> web.Application:
    """The application. `open_model` opens what reads; by default what the settings name.

    Raises TierocrError `config_invalid` when it is not clear who may use the service.
    """
    settings.auth.check()
    tokens = TokenFile(settings.auth.tokens_file) if settings.auth.tokens_file else None
    metrics = Metrics()
    service = Service(settings, open_model or (lambda: model_of(settings)), metrics)
    app = web.Application(
        middlewares=[envelope(metrics), authentication(settings, tokens)],
        client_max_size=max(settings.limits.refine_body_bytes, settings.limits.file_body_bytes),
    )
    app[SERVICE] = service
    app.add_routes(Handlers(settings, service, metrics).routes())
    app.cleanup_ctx.append(_running)
    return app


def model_of(settings: CloudSettings) -> Reader:
    """The model that the settings name. Raises TierocrError like `open_reader`."""
    model = settings.model
    options = EngineOptions(
        device=model.device,
        precision=model.precision,
        threads=model.threads,
        cache_dir=model.cache_dir,
    )
    return open_reader(model.pack, runtime=model.runtime, options=options, source=CLOUD)


async def _running(app: web.Application) -> AsyncIterator[None]:
    app[SERVICE].start()
    yield
    await app[SERVICE].stop()
