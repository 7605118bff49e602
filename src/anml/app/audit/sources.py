"""What `audit` and `train` read: the file as what it is, with v and r from a ledger where one is named."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from anml.core.errors import InputError

if TYPE_CHECKING:
    from anml.app.audit.request import Request
    from anml.app.audit.result import Audited
    from anml.app.ledger.vouched import Vouched
    from anml.intake.source import Source


# Columns, or questions, that readers of exports are told.
READ_BY = ("label", "contributor", "item", "time")
# The like of judgements that are no classes: their shape first.
SHAPED_BY = (
    "task", "first", "second", "choice", "group", "start", "end", "seen", "order", "known", "gold",
    "nested",
)  # fmt: skip


# A file that was read, and what a ledger knows of it.
Read: TypeAlias = "tuple[Source, Vouched | None]"


def read(data: Any, chosen: Mapping[str, Any]) -> Read:
    """Read a file or take a frame by the user's options; what is wrong is said before anything heavy."""
    from anml.core.checks import one_of
    from anml.intake.labels import TASKS
    from anml.intake.shapes.read import table_shape
    from anml.intake.shapes.shape import SHAPES
    from anml.intake.source import plain_source, read_source, shaped_source
    from anml.intake.tables import read_table

    given = {name: chosen.get(name) for name in (*READ_BY, *SHAPED_BY)}
    format, url = chosen["format"], chosen["ledger"]
    one_of("task", given["task"] or "auto", (*TASKS, *SHAPES))
    is_file = isinstance(data, str | Path)
    if not is_file and format not in ("auto", "table"):
        raise InputError(f"a format is for files; a frame is read as it is, got format {format!r}")
    if not url and (chosen["policy"] or chosen["source"]):
        raise InputError("a policy or a source of accounts counts only with a ledger; name one")
    if is_file:
        source = read_source(Path(data).expanduser(), format, given)
    else:
        table = read_table(data)
        if given["task"] == "auto":
            given = {**given, "task": table_shape(table.frame, given) or "auto"}
        shaped = given["task"] in SHAPES
        source = shaped_source(table, "table", given) if shaped else plain_source(table)
    return _vouched(source, given, chosen) if url else (source, None)


def _vouched(source: "Source", given: dict[str, Any], chosen: Mapping[str, Any]) -> Read:
    from anml.app.ledger.ledgers import opened, read_policy
    from anml.app.ledger.vouched import vouch
    from anml.intake.columns import choose_columns

    said = {} if _is_fixed(source) else {role: name for role, name in given.items() if name is not None}
    roles = {**source.roles, **said}
    named: dict[str, Any] = {role: roles.get(role) for role in ("label", "contributor", "item")}
    columns, _ = choose_columns(source.table.frame, **named, needs_features=False)
    keys, policy = (None if chosen[name] is None else Path(chosen[name]) for name in ("keys", "policy"))
    with opened(str(chosen["ledger"]), keys) as ledger:
        return vouch(
            ledger, source, columns.contributor, columns.item, accounts=chosen["source"],
            domain=chosen["track_domain"], policy=read_policy(policy),
        )  # fmt: skip


def fit(request: "Request", found: Read) -> "Request":
    """The request, with the columns that the source and the ledger fix."""
    source, vouched = found
    roles: dict[str, Any] = dict(source.roles)
    if source.shape is not None:
        # The name of a place or of a pair is no text that says what it is; an item that is graded may be one.
        features = None if source.shape.kind == "ordinal" else ()
        request = replace(request, task="classification", features=features, key=None, compare=False)
    if not _is_fixed(source):
        # What the user named goes before what was recognised, but v and r are the ledger's where it has them.
        kept = ("verification", "reputation") if vouched else ()
        asked = {role: getattr(request, role) for role in roles if role not in kept}
        roles |= {role: name for role, name in asked.items() if name is not None}
    elif request.time is not None:
        columns = source.table.frame.columns
        time = request.time if source.shape is not None and request.time in columns else "time"
        if time not in columns:
            raise InputError(f"{source.table.name} does not say when a label was given")
        roles["time"] = time
    # What an export knows enters as known, unless the user names something else, or has it check.
    left_out: set[str] = set()
    if request.known is not None:
        roles, left_out = {**roles, "known": request.known}, {"reviewed"}
    elif request.gold is not None:
        names = {"known": ("truth", roles.get("known")), "reviewed": (roles.get("reviewed"),)}
        left_out = {role for role, known in names.items() if request.gold in known}
    roles = {role: name for role, name in roles.items() if role not in left_out}
    used = {*roles.values(), *(request.features or ()), request.gold}
    used |= {request.verification, request.reputation} if source.shape is not None else set()
    replaced = [request.verification, request.reputation] if vouched else []
    beside = [name for name in (*source.beside, *replaced) if name is not None and name not in used]
    request = replace(request, **roles, ignore=tuple(dict.fromkeys((*request.ignore, *beside))))
    # The ledger has its own floor for newcomers, which asks for age and knows flags.
    return request if vouched is None else replace(request, newcomer=0)


def finish(result: "Audited", found: Read, data: Any, chosen: Mapping[str, Any]) -> "Audited":
    """A result with what its source said and where its data lie, by which `anml relabel` reads them again."""
    source, vouched = found
    samples, about = result.samples, {**result.data, "format": source.format}
    if vouched is not None:
        rows = vouched.rows[samples["row"].to_list()]
        samples = samples.with_columns(rows["level"], rows["evidence"])
    if isinstance(data, str | Path):
        names = (*READ_BY, *(SHAPED_BY if result.shape is not None else ()))
        named = {name: chosen[name] for name in names if chosen[name]}
        named |= {"seen": str(Path(named["seen"]).absolute())} if "seen" in named else {}
        named |= {} if result.shape is None else {"task": result.shape.kind}
        about |= {"path": str(Path(data).expanduser().absolute()), "named": named}
    notes = [*source.notes, *([source.about_v] if source.about_v else []), *result.notes]
    warnings = [*source.warnings, *result.warnings]
    return replace(result, samples=samples, notes=notes, warnings=warnings, vouched=vouched, data=about)


def folder_of(data: Any) -> Path:
    """Where paths in a table start: its folder; the current one for a frame."""
    if not isinstance(data, str | Path):
        return Path()
    path = Path(data).expanduser()
    return path if path.is_dir() else path.parent


def _is_fixed(source: "Source") -> bool:
    """Whether its columns are those of a reader, whatever the user's are called."""
    return source.shape is not None or source.format not in ("table", "ledger rows")
