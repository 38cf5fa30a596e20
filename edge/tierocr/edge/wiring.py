"""From settings to the parts of the agent, and what must agree on this machine before it starts.

Every problem is found before anything is read. Raises TierocrError `config_invalid`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tierocr.edge.api.guard import is_loopback
from tierocr.edge.api.handlers import SOURCE as API
from tierocr.edge.disk import Disk
from tierocr.edge.refining import CloudAddress, tls_of
from tierocr.edge.settings import EdgeSettings, WatchSettings, WebhookSettings
from tierocr.edge.sinks import Sink
from tierocr.edge.sinks.folder import FolderSink
from tierocr.edge.sinks.stdout import Stdout
from tierocr.edge.sinks.webhook import Webhook
from tierocr.edge.sources.folder import FolderSettings
from tierocr.edge.sources.stdin import STDIN
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import FORMATS, PICTURE_FORMATS

QUARANTINE = "quarantine"


def check(settings: EdgeSettings) -> None:
    """Raise TierocrError `config_invalid`, with every problem, unless all can work together."""
    problems = [
        *_missing(settings),
        *_sources(settings),
        *_folders(settings),
        *_privacy(settings),
    ]
    for webhook in settings.sinks.webhook:
        try:
            secret_of(webhook)
        except TierocrError as error:
            problems.append(error.message)
    try:
        cloud_address(settings)
    except TierocrError as error:
        problems.append(error.message)
    if problems:
        raise TierocrError("config_invalid", "; ".join(problems))


def _missing(settings: EdgeSettings) -> Iterator[str]:
    sources, sinks, api = settings.sources, settings.sinks, settings.api
    if api.port is not None:
        if api.token is None and not is_loopback(api.host):
            yield f"api.host: {api.host} can be reached by others; set api.token_file"
        return
    if not sources.watch and not sources.camera and not sources.stdin:
        yield "there is nothing to read: set sources.watch, camera or stdin, or api.port"
    if not sinks.folder and not sinks.webhook and not sinks.stdout:
        yield "results would go nowhere: set sinks.folder, sinks.webhook or sinks.stdout"


def _sources(settings: EdgeSettings) -> Iterator[str]:
    labels = _labels(settings)
    for label in sorted({label for label in labels if labels.count(label) > 1}):
        yield f"sources: several are called {label!r}; give them a name each"
    for watch in settings.sources.watch:
        if not watch.folder.is_dir():
            yield f"sources.watch: {watch.folder} is no folder"


def _privacy(settings: EdgeSettings) -> Iterator[str]:
    """A rule for a source that is misspelt would protect nothing."""
    known = source_names(settings)
    for own in settings.privacy.sources:
        if own.source not in known:
            names = ", ".join(sorted(known)) or "none"
            yield f"privacy.sources: there is no source {own.source!r}; there are: {names}"


def source_names(settings: EdgeSettings) -> set[str]:
    """How the sources that are read are called."""
    names = set(_labels(settings))
    names |= {STDIN.source} if settings.sources.stdin else set()
    return names | ({API} if settings.api.port is not None else set())


def _labels(settings: EdgeSettings) -> list[str]:
    watched = [watch.label for watch in settings.sources.watch]
    return watched + [camera.label for camera in settings.sources.camera]


def _folders(settings: EdgeSettings) -> Iterator[str]:
    """What is written needs a folder, and must not be read again."""
    watched = settings.sources.watch
    written = [("sinks.folder", sink.folder) for sink in settings.sinks.folder]
    written.append(("state.folder", settings.state.folder))
    for watch in watched:
        if watch.quarantine_folder is not None:
            written.append(("quarantine_folder", watch.quarantine_folder))
        if watch.processed_folder is not None:
            written.append(("processed_folder", watch.processed_folder))
    for key, folder in written:
        if _is_something_else(folder):
            yield f"{key}: {folder} is no folder"
    for watch in watched:
        for key, folder in written:
            inside = _inside(folder, watch.folder)
            if inside and (key.startswith("sinks") or watch.recursive or _same(folder, watch)):
                yield f"{key}: {folder} lies in {watch.folder}, which is watched"
        for other in watched:
            if other is not watch and _inside(other.folder, watch.folder) and watch.recursive:
                yield f"sources.watch: {other.folder} lies in {watch.folder}, which is watched too"


def _is_something_else(folder: Path) -> bool:
    """Whether there is something by that name that is no folder, as far as can be seen."""
    with contextlib.suppress(OSError):
        return folder.exists() and not folder.is_dir()
    return False


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _inside(folder: Path, outer: Path) -> bool:
    return _real(folder).is_relative_to(_real(outer))


def _same(folder: Path, watch: WatchSettings) -> bool:
    return _real(folder) == _real(watch.folder)


def secret_of(webhook: WebhookSettings) -> bytes | None:
    """What signs the bodies for an address."""
    if webhook.secret_file is None:
        return None
    try:
        secret = webhook.secret_file.read_bytes().strip()
    except OSError as error:
        message = f"sinks.webhook: cannot read {webhook.secret_file}"
        raise TierocrError("config_invalid", message) from error
    if not secret:
        raise TierocrError("config_invalid", f"sinks.webhook: {webhook.secret_file} is empty")
    return secret


def cloud_address(settings: EdgeSettings) -> CloudAddress | None:
    """Whom lines are sent to; None where nothing may leave. Raises TierocrError
    `config_invalid`.
    """
    cloud = settings.cloud
    if not cloud.upload or cloud.url is None:
        return None
    return CloudAddress(
        url=cloud.url,
        token=cloud.token.get_secret_value() if cloud.token else None,
        device=cloud.device,
        deadline=cloud.deadline_seconds,
        tls=tls_of(cloud.ca_file, cloud.client_certificate, cloud.client_key),
    )


def make_sinks(settings: EdgeSettings, stdout: BinaryIO, disk: Disk) -> list[Sink]:
    """All places that results go to."""
    sinks: list[Sink] = []
    rules = settings.reading.rules
    for folder in settings.sinks.folder:
        endings = [(FORMATS.get(n) or PICTURE_FORMATS[n]).ending for n in folder.formats]
        sinks.append(
            FolderSink(
                folder.folder,
                folder.formats,
                endings,
                provisional=folder.provisional,
                rules=rules,
                limits=settings.reading.limits,
                disk=disk,
            )
        )
    for hook in settings.sinks.webhook:
        sinks.append(
            Webhook(
                hook.url,
                secret_of(hook),
                provisional=hook.provisional,
                timeout=hook.timeout_seconds,
                rules=rules,
            )
        )
    if settings.sinks.stdout:
        sinks.append(Stdout(stdout, rules=rules))
    return sinks


def needs_originals(settings: EdgeSettings) -> bool:
    """Whether a sink writes a format that shows the pages."""
    return any(n in PICTURE_FORMATS for f in settings.sinks.folder for n in f.formats)


def folder_settings(settings: EdgeSettings, watch: WatchSettings) -> FolderSettings:
    """The same for the source."""
    quarantine = settings.state.folder / QUARANTINE / watch.label
    return FolderSettings(
        name=watch.label,
        folder=watch.folder,
        quarantine=watch.quarantine_folder or quarantine,
        moved=watch.processed_folder,
        recursive=watch.recursive,
        watch=watch.watch,
        poll_seconds=watch.poll_seconds,
        rules=watch.rules,
        limits=settings.reading.limits,
    )
