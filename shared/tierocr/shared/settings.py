"""One YAML file, the environment and the command line -> validated, frozen settings.

Decides precedence (command line > environment > file > default), where secrets may come from, and
how a mistake is reported: by the nearest known key and the place where it stands. The settings
themselves are the caller's pydantic models; this module must not know any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from tierocr.shared.errors import TierocrError

PREFIX = "TIEROCR_"
COMMAND_LINE = "command line"
_SEPARATOR = "__"
_TWIN = "_file"

T = TypeVar("T", bound=BaseModel)
Path_ = tuple[str, ...]


class Section(BaseModel):
    """What every settings model derives from: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def load_settings(
    model: type[T],
    *,
    file: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any],
) -> T:
    """Settings from all places, validated.

    `environ`: variables `TIEROCR_SECTION__KEY` whose section the model knows are read, others are
    left to whom they belong. `overrides`: nested like the file; None stands for "not given". A
    secret `x` (SecretStr) whose model also has a field `x_file` is read from that file.

    Raises TierocrError `config_invalid` that names every mistake, one a line.
    """
    layers = []
    if file is not None:
        layers.append(_file_layer(file))
    layers.append(_environment_layer(model, environ))
    layers.append(_override_layer(overrides))
    merged = _Layer()
    for layer in layers:
        _read_secret_files(model, layer)
        merged.put(layer, model)
    try:
        return model.model_validate(merged.nested())
    except ValidationError as error:
        raise TierocrError("config_invalid", _explain(model, merged, error)) from error


def print_config(settings: BaseModel) -> str:
    """The settings as YAML; secrets are masked."""
    values = settings.model_dump(mode="json")
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def settings_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of the settings file."""
    return model.model_json_schema()


@dataclass(slots=True)
class _Layer:
    """Leaf values by path, and where each path was set."""

    values: dict[Path_, Any] = field(default_factory=dict)
    places: dict[Path_, str] = field(default_factory=dict)

    def put(self, above: _Layer, model: type[BaseModel]) -> None:
        """Lay a layer of higher precedence over this one."""
        for path, value in above.values.items():
            for old in [p for p in self.values if p[: len(path)] == path or path[: len(p)] == p]:
                del self.values[old]
            if _is_secret(model, path):  # a secret given above also hides a file named below
                self.values.pop((*path[:-1], path[-1] + _TWIN), None)
            self.values[path] = value
        self.places.update(above.places)

    def nested(self) -> dict[str, Any]:
        """The leaves as nested mappings."""
        root: dict[str, Any] = {}
        for path, value in self.values.items():
            node = root
            for key in path[:-1]:
                node = node.setdefault(key, {})
            node[path[-1]] = value
        return root

    def place(self, path: Path_) -> str:
        """Where a path, or the nearest thing around it, was set."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return next((w for p, w in self.places.items() if p[: len(path)] == path), "settings")


def _file_layer(file: Path) -> _Layer:
    try:
        text = file.read_text(encoding="utf-8-sig")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except OSError as error:
        raise TierocrError("config_invalid", f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TierocrError("config_invalid", f"{file} is not valid YAML: {error}") from error
    if values is None:
        return _Layer()
    if not isinstance(root, yaml.MappingNode):
        raise TierocrError("config_invalid", f"{file} must hold sections with keys")
    places = dict(_key_lines(file, root, ()))
    return _Layer(values=dict(_leaves(values, ())), places=places)


def _key_lines(file: Path, node: yaml.MappingNode, parent: Path_) -> Iterator[tuple[Path_, str]]:
    """The place of every key. Raises TierocrError for a key that stands twice: YAML would silently
    take the last.
    """
    seen: dict[str, int] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in seen:
            raise TierocrError(
                "config_invalid",
                f"{file}:{line}: {_dotted((*parent, name))} also stands in line {seen[name]}",
            )
        seen[name] = line
        yield (*parent, name), f"{file}:{line}"
        if isinstance(value, yaml.MappingNode):
            yield from _key_lines(file, value, (*parent, name))


def _environment_layer(model: type[BaseModel], environ: Mapping[str, str]) -> _Layer:
    layer = _Layer()
    for name, text in sorted(environ.items()):
        head, separator, _ = name.removeprefix(PREFIX).partition(_SEPARATOR)
        if not name.startswith(PREFIX) or not separator:
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split(_SEPARATOR))
        if head.lower() in model.model_fields:
            layer.values[path] = _environment_value(model, path, text)
            layer.places[path] = f"environment variable {name}"
    return layer


def _environment_value(model: type[BaseModel], path: Path_, text: str) -> object:
    """Lists, maps and `null` are written as YAML; anything else is the text itself, so that no
    password is taken apart.
    """
    if _is_secret(model, path) or (text[:1] not in "[{" and text != "null"):
        return text
    try:
        value: object = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return value


def _override_layer(overrides: Mapping[str, Any]) -> _Layer:
    values = {p: v for p, v in _leaves(overrides, ()) if v is not None}
    return _Layer(values=values, places=dict.fromkeys(values, COMMAND_LINE))


def _leaves(values: Mapping[Any, Any], parent: Path_) -> Iterator[tuple[Path_, Any]]:
    for key, value in values.items():
        path = (*parent, str(key))
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, path)
        elif len(path) > 1 or (value is not None and value != {}):  # an empty section says nothing
            yield path, value


def _read_secret_files(model: type[BaseModel], layer: _Layer) -> None:
    """Replace what a `*_file` key names by the secret in that file."""
    for twin, name in list(layer.values.items()):
        path = (*twin[:-1], twin[-1].removesuffix(_TWIN))
        if not twin[-1].endswith(_TWIN) or name is None or not _is_secret(model, path):
            continue
        where = layer.place(twin)
        if path in layer.values:
            raise TierocrError(
                "config_invalid", f"{where}: give {_dotted(path)} or {_dotted(twin)}, not both"
            )
        try:
            text = Path(str(name)).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TierocrError(
                "config_invalid", f"{where}: {_dotted(twin)}: cannot read {name}"
            ) from error
        layer.values[path] = text
        layer.places[path] = where


def _explain(model: type[BaseModel], merged: _Layer, error: ValidationError) -> str:
    lines = []
    for item in error.errors(include_url=False, include_context=False):
        path = tuple(str(part) for part in item["loc"])
        where = merged.place(path)
        if item["type"] == "extra_forbidden":
            lines.append(f"{where}: unknown key {_dotted(path)}{_suggestion(model, path)}")
            continue
        message = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
        plain = isinstance(item["input"], (str, int, float))
        got = f" (got {item['input']!r})" if plain and not _is_secret(model, path) else ""
        lines.append(f"{where}: {_dotted(path)}: {message}{got}" if path else f"{where}: {message}")
    return "\n".join(lines)


def _suggestion(model: type[BaseModel], path: Path_) -> str:
    """The nearest known key: of the same section first, then anywhere."""
    known = list(_known_paths(model, ()))
    siblings = [p[-1] for p in known if p[:-1] == path[:-1]]
    near = get_close_matches(path[-1], siblings, n=1)
    if near:
        return f"; did you mean {_dotted((*path[:-1], near[0]))}?"
    same = [p for p in known if p[-1] == path[-1]]
    anywhere = [_dotted(p) for p in same] or get_close_matches(
        _dotted(path), [_dotted(p) for p in known], n=1, cutoff=0.0
    )
    return f"; did you mean {anywhere[0]}?" if anywhere else ""


def _known_paths(model: type[BaseModel], parent: Path_) -> Iterator[Path_]:
    for name, info in model.model_fields.items():
        yield (*parent, name)
        inner = _model_of(info)
        if inner is not None:
            yield from _known_paths(inner, (*parent, name))


def _is_secret(model: type[BaseModel], path: Path_) -> bool:
    """Whether the field at a path holds a SecretStr."""
    current: type[BaseModel] | None = model
    for key in path[:-1]:
        info = current.model_fields.get(key) if current else None
        current = _model_of(info) if info else None
    info = current.model_fields.get(path[-1]) if current and path else None
    return info is not None and SecretStr in _choices(info)


def _model_of(info: FieldInfo) -> type[BaseModel] | None:
    for choice in _choices(info):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return None


def _choices(info: FieldInfo) -> tuple[Any, ...]:
    """The types that a field may have: X and None of `X | None`."""
    return get_args(info.annotation) or (info.annotation,)


def _dotted(path: Path_) -> str:
    return ".".join(path)
