"""MLCommons Croissant: which column, annotations of others included, says who, what and when."""

from collections.abc import Iterator
from typing import Any

from anml.core.errors import InputError
from anml.intake.file import File

# The end of a property's address, and the part it plays.
_PROPERTIES = {
    "wasAttributedTo": "contributor",
    "wasAssociatedWith": "contributor",
    "endedAtTime": "time",
    "generatedAtTime": "time",
    "dateCreated": "time",
    "identifier": "item",
    "citation": "doi",
}
_TYPES = {"DateTime": "time", "Label": "label"}


def read_croissant(file: File) -> tuple[dict[str, str | None], str | None]:
    """What a Croissant file says: our names to columns, and the file that has them."""
    about = file.json
    if not isinstance(about, dict) or "recordSet" not in about:
        raise InputError(f"{file.path.name} is not a Croissant description: it has no recordSet")
    columns: dict[str, str | None] = {}
    for field in _fields(about["recordSet"]):
        told = [_PROPERTIES.get(_last(value)) for value in _listed(field.get("equivalentProperty"))]
        told += [_TYPES.get(_last(value)) for value in _listed(field.get("dataType"))]
        role, where = next(filter(None, told), None), field.get("source") or {}
        column = (where.get("extract") or {}).get("column") if isinstance(where, dict) else None
        if role and column:
            columns.setdefault(role, str(column))
    if "contributor" not in columns:
        raise InputError(f"{file.path.name} names no contributor: no field is prov:wasAttributedTo")
    return columns, _file(about)


def _fields(node: Any) -> Iterator[dict[str, Any]]:
    for part in node if isinstance(node, list) else [node]:
        if not isinstance(part, dict):
            continue
        if "source" in part or "equivalentProperty" in part:
            yield part
        for key in ("field", "subField", "annotation"):
            yield from _fields(part.get(key, []))


def _file(about: dict[str, Any]) -> str | None:
    for part in _listed(about.get("distribution")):
        address = part.get("contentUrl") if isinstance(part, dict) else None
        if isinstance(address, str) and address and "://" not in address:
            return address
    return None


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _last(value: Any) -> str:
    """The last part of an address such as prov:wasAttributedTo or http://…/prov#wasAttributedTo."""
    return str(value).replace("#", "/").replace(":", "/").rsplit("/", 1)[-1]
