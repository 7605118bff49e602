"""One audit for every surface: from data and options to what was found."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anml.app.audit.sources import finish, fit, folder_of, read
from anml.app.scale.audit import audit_in_slices, holds_parquet
from anml.core.domain import SHAPES
from anml.core.errors import InputError, UnsupportedError
from anml.surfaces.audit_options import request_of

if TYPE_CHECKING:
    from anml.app.audit.result import Audited
    from anml.core.progress import Progress

Shown = AbstractContextManager["Progress | None"]


def audit_data(data: Any, chosen: Mapping[str, Any], shown: Shown) -> tuple["Audited", Any]:
    """What an audit by these options found, and the table it read; None where that was slice by slice."""
    if in_slices(data, chosen):
        return _in_slices(data, chosen, shown), None
    # What is wrong with the file is said before the heavy imports.
    found = source, _ = read(data, chosen)
    request = fit(request_of(chosen), found)
    if source.shape is not None:
        from anml.app.shapes.audit import audit_shape

        with shown as progress:
            result = audit_shape(source, request, progress)
        return finish(result, found, data, chosen), source.table
    from anml.app.audit.media import Media, audit_media

    table = source.table
    cache = None if chosen["cache"] is None else Path(chosen["cache"])
    named = {name: chosen[name] for name in ("image", "text", "embed", "device")}
    media = Media(**named, cache=cache, folder=folder_of(data))
    with shown as progress:
        result = audit_media(table, request, media, test=chosen["test"], progress=progress)
    return finish(result, found, data, chosen), table


def in_slices(data: Any, chosen: Mapping[str, Any]) -> bool:
    """Whether data are judged slice by slice: by an engine, or a folder of Parquet files.

    Judgements that are no classes are read whole, whatever the engine: what they are of is said by all rows.
    """
    return chosen["task"] not in SHAPES and (chosen["engine"] is not None or holds_parquet(data))


def _in_slices(data: Any, chosen: Mapping[str, Any], shown: Shown) -> "Audited":
    if chosen["out"] is None:
        raise InputError("with an engine, or a folder of Parquet files, the output needs a folder: --out DIR")
    for name in ("ledger", "test", "image", "text", "embed"):
        if chosen[name]:
            raise UnsupportedError(f"{name} needs all rows in memory; leave out either {name} or the engine")
    if chosen["device"] not in ("auto", "cpu"):
        raise UnsupportedError(f"an engine works on processors, got device {chosen['device']!r}")
    from anml.surfaces.report import write_report

    request, out = replace(request_of(chosen), compare=False), Path(chosen["out"])
    engine, address = chosen["engine"] or "local", chosen["address"]
    with shown as progress:
        return audit_in_slices(data, request, engine, address, out, progress, write_report)
