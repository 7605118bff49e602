"""Settings of an audit from a file, from `--set` and from `--column`, with the keys of the Python objects."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from anml.core.errors import InputError, UnknownNameError
from anml.core.files import read_text
from anml.core.profile import Profile
from anml.core.types import Recipe
from anml.engines.options import ENGINES, Local, Ray
from anml.schema import Encoder, Schema
from anml.tasks import TASKS

# Settings of the audit with their types.
AUDIT_SETTINGS: dict[str, Any] = {
    "label": str, "contributor": str, "item": str, "features": Sequence[str], "predictions": Path,
    "embeddings": str, "evaluate": bool | Path, "random_state": int, "n_jobs": int,
}  # fmt: skip
# Tables of the file; their keys are the fields of these classes.
SECTIONS: dict[str, tuple[type, ...]] = {
    "schema": (Schema,),
    "task": tuple(TASKS.values()),
    "recipe": (Recipe,),
    "encoder": (Encoder,),
    "engine": (Local, Ray),
}
# Fields of the schema that are not columns, and tables with a key `name`.
NO_COLUMNS = ("ignore", "answers", "clean", "missing", "format")
NAMED = ("task", "recipe", "engine")


def config_keys() -> Iterator[tuple[str, Any, Any]]:
    """Yield each key of the configuration with its type and its default."""
    for name, kind in AUDIT_SETTINGS.items():
        yield name, kind, None
    for section, kinds in SECTIONS.items():
        if section in NAMED:
            yield f"{section}.name", str, None
        keys: dict[str, tuple[Any, Any]] = {}
        for kind in kinds:
            for key, type_, default in _keys_of(section, kind):
                keys.setdefault(key, (type_, default))
        for key, (type_, default) in keys.items():
            if key == "recipe.profile":
                yield key, str, "default"
                yield from _keys_of(key, Profile)
            else:
                yield key, type_, default


def _keys_of(section: str, kind: type) -> list[tuple[str, Any, Any]]:
    """Return the keys of the fields of a class, with their types and defaults."""
    hints = get_type_hints(kind)
    default = {each.name: None if each.default is MISSING else each.default for each in fields(kind)}
    return [(f"{section}.{name}", hints[name], default[name]) for name in default]


def read_config(path: Path | None) -> dict[str, Any]:
    """Read a TOML file, or the settings in the run.json of a run."""
    if path is None:
        return {}
    text = read_text(path, "configuration")
    try:
        if path.suffix.lower() != ".json":
            return _checked(tomllib.loads(text), str(path))
        config = json.loads(text)
        return _checked(config.get("config", config), str(path))
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, AttributeError) as error:
        raise InputError(f"the configuration {path} cannot be read: {error}") from None


def _checked(config: dict[str, Any], where: str) -> dict[str, Any]:
    types = {key: kind for key, kind, _ in config_keys()}
    for key, _ in _flat(config):
        if key not in types and key not in SECTIONS:
            raise UnknownNameError(f"key in {where}", key, types)
    return config


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        key = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def with_settings(config: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return the configuration with `KEY=VALUE` settings applied."""
    types = {key: kind for key, kind, _ in config_keys()}
    for text in settings:
        key, sign, value = text.partition("=")
        key = key.strip()
        if not sign:
            raise InputError(f"--set takes KEY=VALUE, such as recipe.half_life=90d, got {text!r}")
        if key not in types:
            raise UnknownNameError("key of --set", key, types)
        config = _put(config, key.split("."), _parse(key, value.strip(), types[key]))
    return config


def with_columns(config: dict[str, Any], columns: Sequence[str], task: str | None) -> dict[str, Any]:
    """Return the configuration with the roles of `ROLE=NAME` columns."""
    own = (
        [f.name for f in fields(TASKS[task])]
        if task in TASKS
        else ["first", "second", "choice", "group", "start", "end"]
    )
    roles = [f.name for f in fields(Schema) if f.name not in NO_COLUMNS]
    for text in columns:
        role, sign, name = text.partition("=")
        if not sign or not name:
            raise InputError(f"--column takes ROLE=NAME, such as time=created_at, got {text!r}")
        if role not in (*roles, *own):
            raise UnknownNameError("role of --column", role, [*roles, *own])
        config = _put(config, ["task" if role in own else "schema", role], name)
    return config


def _put(config: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**config, name: value}
    inner = config.get(name)
    # A string is a table with that name.
    table = dict(inner) if isinstance(inner, Mapping) else {} if inner is None else {"name": inner}
    return {**config, name: _put(table, rest, value)}


def _parse(key: str, text: str, kind: Any) -> Any:
    kinds = set(get_args(kind)) or {kind}
    names = {getattr(each, "__name__", str(each)) for each in kinds}
    if text.lower() in ("none", "null"):
        return None
    if "bool" in names and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if names & {"tuple", "Sequence", "str"} and ("," in text) and kind is not str:
        return [_number(part.strip()) for part in text.split(",")]
    if names <= {"bool"}:
        raise InputError(f"{key} must be true or false, got {text!r}")
    if names & {"int", "float", "Any"}:
        number = _number(text)
        if isinstance(number, str) and not names & {"str", "Path", "Any"}:
            raise InputError(f"{key} must be a number, got {text!r}")
        return number
    return text


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def engine_of(name: str | None, out: Path | None, settings: Mapping[str, Any] | None) -> Local | None:
    """Return the engine of `--engine` and of the table `[engine]`."""
    chosen = dict(settings or {})
    named = name or chosen.pop("name", None)
    chosen.pop("name", None)
    if named is None:
        return None
    if named not in ENGINES:
        raise UnknownNameError("engine", named, ENGINES)
    where = out or chosen.pop("out", None)
    chosen.pop("out", None)
    if where is None:
        raise InputError("an engine needs a folder for the run: --out DIR")
    allowed = [each.name for each in fields(ENGINES[named])]
    for key in chosen:
        if key not in allowed:
            raise UnknownNameError(f"key of the engine {named}", key, allowed)
    return ENGINES[named](out=where, **chosen)
