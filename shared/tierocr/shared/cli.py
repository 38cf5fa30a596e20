"""`tierocr`: the umbrella command.

Knows no command itself: each installed part registers its own as entry points of group
`tierocr.commands`, nested by dots ("models.fetch"). A command's module is imported only when it
is called or listed. Expected failures become one line on stderr and an exit code; anything else
keeps its traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

import typer

from tierocr.shared.errors import TierocrError
from tierocr.shared.heap import return_large_blocks

GROUP = "tierocr.commands"

EXIT_SOME_FAILED = 1
EXIT_USAGE = 2


def build(wanted: Sequence[str]) -> typer.Typer:
    """The command tree. Only the command that `wanted` begins with is imported, else all of
    them.
    """
    app = typer.Typer(
        help="OCR in two tiers: read here at once, have unsure lines read again in the cloud.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_umbrella)  # without one, a tree of one command would take no command's name
    groups: dict[str, typer.Typer] = {"": app}
    entries = sorted(metadata.entry_points(group=GROUP), key=lambda e: e.name)
    for entry in _called(entries, wanted) or entries:
        parent, _, name = entry.name.rpartition(".")
        _group(groups, parent).command(name)(entry.load())
    return app


def main() -> None:
    """Run the command line; the entry point of the `tierocr` script."""
    return_large_blocks()
    arguments = sys.argv[1:]
    if arguments[:1] == ["--version"]:
        print(f"tierocr {metadata.version('tierocr')}")
        return
    try:
        build(arguments)(arguments)
    except TierocrError as error:
        print("tierocr:", *str(error).split(), file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _umbrella() -> None:
    pass


def _called(
    entries: Sequence[metadata.EntryPoint], wanted: Sequence[str]
) -> list[metadata.EntryPoint]:
    """The one command that the arguments begin with, if there is exactly one."""
    words = [w for w in wanted if not w.startswith("-")]
    return [
        e
        for e in entries
        if words[: len(parts := e.name.split("."))] == parts and not wanted[0].startswith("-")
    ]


def _group(groups: dict[str, typer.Typer], path: str) -> typer.Typer:
    if path not in groups:
        parent, _, name = path.rpartition(".")
        groups[path] = typer.Typer(no_args_is_help=True)
        groups[path].callback()(_umbrella)
        _group(groups, parent).add_typer(groups[path], name=name, help=_GROUP_HELP.get(path, ""))
    return groups[path]


_GROUP_HELP = {
    "cloud": "The refinement service.",
    "cloud.token": "Tokens of the devices that may use the service.",
    "models": "Model packs: list, verify, make again.",
}
