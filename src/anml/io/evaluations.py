"""Scores of evaluation tools, given by people and models: Langfuse and Phoenix, as JSON or CSV."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anml.core.errors import InputError
from anml.core.text import join_names, pluralise
from anml.io.contributions import Chosen, Contributions, assemble, utc_text
from anml.io.file import JSON, InputFile

Record = Mapping[str, Any]
# Keys by which the scores of a tool are known, in the spelling of its CSV.
SIGNATURES = {"langfuse": {"trace_id", "name", "source"}, "phoenix": {"span_id", "annotator_kind"}}
PEOPLE = "people"
# Sources of a score that a person gave.
BY_PEOPLE = ("ANNOTATION", "HUMAN")
MAX_NAMES = 8


def evaluation_format(keys: set[str]) -> str | None:
    """Return the tool whose scores have these keys, or None."""
    known = {_snake(key) for key in keys}
    return next((name for name, marks in SIGNATURES.items() if marks <= known), None)


def read_langfuse(file: InputFile, columns: Chosen) -> Contributions:
    """Read scores of Langfuse: of traces, observations or sessions, by an evaluator or an annotator."""
    return _read(
        file, columns, "langfuse", ("observation_id", "trace_id", "session_id"), ("string_value", "value")
    )


def read_phoenix(file: InputFile, columns: Chosen) -> Contributions:
    """Read annotations of spans of Phoenix."""
    return _read(file, columns, "phoenix", ("span_id",), ("label", "score"))


def _read(
    file: InputFile, columns: Chosen, source: str, items: tuple[str, ...], values: tuple[str, ...]
) -> Contributions:
    scores = [record for record in _records(file) if _first(record, values) is not None]
    names = sorted({str(_first(record, ("name", "annotation_name"))) for record in scores})
    asked = [name.strip() for name in (columns.get("label") or "").split(",") if name.strip()] or names
    if unknown := [name for name in asked if name not in names]:
        raise InputError(f"no score is called {unknown[0]!r}; this file has {_listed(names)}")
    if len(names) > 1 and not columns.get("label"):
        advice = "name the scores that answer the same question, separated by commas, with --label"
        raise InputError(f"{advice}; this file has {_listed(names)}")
    rows, nameless = [], 0
    for record in scores:
        name = str(_first(record, ("name", "annotation_name")))
        if name in asked:
            by = _contributor(record, name if len(asked) > 1 else None)
            nameless += by == PEOPLE
            time = utc_text(_first(record, ("timestamp", "created_at", "updated_at")))
            rows.append({"item": str(_first(record, items)), "contributor": by, "time": time,
                         "label": str(_first(record, values))})  # fmt: skip
    warnings = [f"{pluralise(nameless, 'score')} by people without a user count as one contributor, "
                f"{PEOPLE!r}"] if nameless else []  # fmt: skip
    return assemble(source, rows, warnings=warnings)


def _contributor(record: Record, name: str | None) -> str:
    """Return the user of a score by a person; else the model, the evaluator, the name or the source."""
    metadata = _object(record.get("metadata"))
    kind = str(_first(record, ("source", "annotator_kind")) or "").upper()
    if kind in BY_PEOPLE:
        user = _first(record, ("author_user_id", "user_id", "identifier"))
        return str(user or metadata.get("user") or PEOPLE)
    model = metadata.get("model") or _first(record, ("evaluator_id", "identifier"))
    return str(model or name or kind.lower() or "evaluator")


def _records(file: InputFile) -> Iterator[Record]:
    """Yield the records with keys in snake case; results of Phoenix beside them."""
    if file.path.suffix.lower() in JSON:
        value = file.json
        given = value.get("data", [value]) if isinstance(value, dict) else value
    else:
        given = file.table.frame.iter_rows(named=True)
    for each in given:
        if not isinstance(each, dict):
            raise InputError(f"{file.path.name} is not a list of scores")
        record = {_snake(key): value for key, value in each.items()}
        yield {**record, **_object(record.get("result"))}


def _first(record: Record, names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _object(value: Any) -> dict[str, Any]:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _snake(key: str) -> str:
    parts = (f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    return (
        "".join(parts).removeprefix("_").replace(".", "_").removeprefix("result_").replace(" ", "_").lower()
    )


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return join_names([*map(repr, names[:MAX_NAMES]), *([f"{more} more"] if more > 0 else [])])


READERS: dict[str, Callable[[InputFile, Chosen], Contributions]] = {
    "langfuse": read_langfuse,
    "phoenix": read_phoenix,
}
