"""`pack.yaml` as plain values: what `models build` adds to a pack and `models fetch` leaves out.

A built artefact is an INT8 one; everything else comes from a published package as it is.
"""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tierocr.shared.models.manifest import Pack

Values = dict[str, Any]
BUILT = "int8"

_WIDTH = 120
_STEP = 2


def read_values(folder: Path) -> Values:
    """The manifest of a pack that `load_pack` has accepted."""
    values: Values = yaml.safe_load((folder / "pack.yaml").read_text(encoding="utf-8"))
    return values


def copy_files(pack: Pack, values: Values, folder: Path) -> None:
    """Copy the files that `values` lists and that stand in the pack's own folder, each checked.

    Raises TierocrError `model_invalid`, OSError.
    """
    for name, entry in values["files"].items():
        if not entry.get("installed"):
            shutil.copyfile(pack.file(name), folder / name)


def without_built(
    values: Values, networks: Sequence[str] = (), runtimes: Sequence[str] = ()
) -> Values:
    """The manifest without built artefacts and the files that only they need.

    `networks`, `runtimes`: only those of these networks and runtimes; none given means all. The
    record of a build goes with the last of its files.
    """
    kept: list[Values] = []
    gone: list[Values] = []
    for artefact in values["artefacts"]:
        asked = not networks or artefact["network"] in networks
        asked = asked and (not runtimes or artefact["runtime"] in runtimes)
        (gone if asked and _is_built(artefact) else kept).append(artefact)
    unused = _files(gone) - _files(kept)
    files = {name: entry for name, entry in values["files"].items() if name not in unused}
    result = {**values, "files": files, "artefacts": kept}
    left = [
        record | {"files": [name for name in record["files"] if name in files]}
        for record in result.pop("built", ())
    ]
    records = [record for record in left if record["files"]]
    return result | ({"built": records} if records else {})


def with_built(
    values: Values,
    artefacts: Sequence[Values],
    digests: Mapping[str, str],
    record: Values | None,
) -> Values:
    """The manifest with built artefacts, the SHA-256 of their files, and how they were made, all
    of `Built` but the files' names.
    """
    files = {**values["files"], **{name: {"sha256": sha256} for name, sha256 in digests.items()}}
    result = {**values, "files": files, "artefacts": [*values["artefacts"], *artefacts]}
    if record:
        before = result.pop("built", ())  # and back to the end
        result["built"] = [*before, {"files": [*digests], **record}]
    return result


def dump(values: Values) -> str:
    """The text of a manifest: the given order, each entry on one line if it fits there."""
    node = _Dumper(io.StringIO(), sort_keys=False).represent_data(values)
    _lay_out_below(node, 0)
    return _text(node)


class _Dumper(yaml.SafeDumper):
    """Writes an object that occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _lay_out_below(node: yaml.Node, indent: int) -> None:
    """One row for each entry of a node whose rows begin at column `indent`."""
    if isinstance(node, yaml.MappingNode):
        node.flow_style = False
        for key, value in node.value:
            _lay_out(value, indent + len(_text(key, alone=True)) + len(": "), indent + _STEP)
    elif isinstance(node, yaml.SequenceNode):
        node.flow_style = False
        for value in node.value:
            _lay_out(value, indent + len("- "), indent + len("- "))


def _lay_out(node: yaml.Node, column: int, indent: int) -> None:
    """One line that begins at `column` if the node fits there, otherwise rows below."""
    if isinstance(node, yaml.CollectionNode):
        node.flow_style = True
        if column + len(_text(node, alone=True)) > _WIDTH:
            _lay_out_below(node, indent)


def _text(node: yaml.Node, *, alone: bool = False) -> str:
    text: str = yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=math.inf)
    return text.removesuffix("\n").removesuffix("\n...") if alone else text


def _is_built(artefact: Values) -> bool:
    return BUILT in artefact["precisions"]


def _files(artefacts: Sequence[Values]) -> set[str]:
    return {a[key] for a in artefacts for key in ("file", "weights") if a.get(key)}
