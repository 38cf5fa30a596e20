"""The commands `tierocr cloud serve` and `tierocr cloud token …`.

Only what a command line needs: options in, settings out. Errors are raised as TierocrError for the
umbrella command to show.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer

from tierocr.cloud import tokens
from tierocr.cloud.logs import configure_logging
from tierocr.cloud.server import run
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tls import server_tls
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack
from tierocr.shared.settings import load_settings, print_config

Config = Annotated[Path | None, typer.Option("--config", help="Settings file (YAML).")]
Tokens = Annotated[
    Path | None, typer.Option("--tokens", help="File of accepted tokens (auth.tokens_file).")
]
Name = Annotated[str, typer.Argument(help="Whom the token is given to.")]


def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    tokens_file: Tokens = None,
    allow_anonymous: Annotated[
        bool, typer.Option("--allow-anonymous", help="Let in anyone who can reach the port.")
    ] = False,
    pack: Annotated[str | None, typer.Option(help="Model pack (model.pack).")] = None,
    port_file: Annotated[
        Path | None, typer.Option(help="Gets the port's number once the service is ready.")
    ] = None,
    check_config: Annotated[
        bool, typer.Option("--check-config", help="Check settings, tokens and model; then end.")
    ] = False,
    show_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings in force; then end.")
    ] = False,
) -> None:
    """Run the cloud service."""
    settings = _settings(
        config,
        {
            "listen": {"host": host, "port": port, "port_file": port_file},
            "model": {"pack": pack},
            "auth": {"tokens_file": tokens_file, "allow_anonymous": allow_anonymous or None},
        },
    )
    if show_config:
        typer.echo(print_config(settings), nl=False)
    if check_config:
        _check(settings)
    if show_config or check_config:
        return
    configure_logging(settings.log.level)
    asyncio.run(run(settings))


def token_add(name: Name, tokens_file: Tokens = None, config: Config = None) -> None:
    """Make a token and print it, this once."""
    file = _tokens_file(tokens_file, config)
    typer.echo(tokens.add_token(file, name, _now()))
    typer.echo(f"stored for {name} in {file}; it cannot be shown again", err=True)


def token_list(tokens_file: Tokens = None, config: Config = None) -> None:
    """List whom tokens were given to."""
    for token in tokens.read_tokens(_tokens_file(tokens_file, config)):
        state = f"revoked {token.revoked}" if token.revoked else "in force"
        typer.echo(f"{token.name}\t{token.created}\t{state}")


def token_revoke(name: Name, tokens_file: Tokens = None, config: Config = None) -> None:
    """Refuse a token from now on, also in a running service."""
    tokens.revoke_token(_tokens_file(tokens_file, config), name, _now())


def _settings(config: Path | None, overrides: Mapping[str, Any]) -> CloudSettings:
    return load_settings(CloudSettings, file=config, environ=os.environ, overrides=overrides)


def _tokens_file(given: Path | None, config: Path | None) -> Path:
    file = _settings(config, {"auth": {"tokens_file": given}}).auth.tokens_file
    if file is None:
        raise TierocrError("config_invalid", "say which file: --tokens FILE or auth.tokens_file")
    return file


def _check(settings: CloudSettings) -> None:
    settings.auth.check()
    server_tls(settings)
    if settings.auth.tokens_file is not None:
        tokens.read_tokens(settings.auth.tokens_file)
    model, pack = settings.model, find_pack(settings.model.pack)
    for network in ("detector", "recogniser"):
        pack.artefact(network, model.runtime, model.precision)
    typer.echo("the configuration is valid", err=True)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
