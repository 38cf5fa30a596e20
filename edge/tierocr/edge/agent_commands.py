"""The command `tierocr edge`: options in, settings out."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Annotated

import typer

from tierocr.edge.agent import run
from tierocr.edge.logs import configure_logging
from tierocr.edge.settings import EdgeSettings
from tierocr.edge.wiring import check
from tierocr.shared.models.store import find_pack
from tierocr.shared.settings import load_settings, print_config, settings_schema


def edge(
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (YAML).")] = None,
    check_config: Annotated[
        bool, typer.Option("--check-config", help="Check settings, folders and model; then end.")
    ] = False,
    show_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings in force; then end.")
    ] = False,
    show_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of the file; then end.")
    ] = False,
) -> None:
    """Run the edge agent: read what comes, deliver it, have unsure lines read again."""
    if show_schema:
        typer.echo(json.dumps(settings_schema(EdgeSettings), indent=1))
        return
    settings = load_settings(EdgeSettings, file=config, environ=os.environ, overrides={})
    if show_config:
        typer.echo(print_config(settings), nl=False)
    if check_config:
        check(settings)
        find_pack(settings.reading.pack)
        typer.echo("the configuration is valid", err=True)
    if show_config or check_config:
        return
    configure_logging(settings.log.level)
    asyncio.run(run(settings))
