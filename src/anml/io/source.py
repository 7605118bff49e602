"""Input of an audit: a table, the export of an annotation tool, or rows exported by the ledger."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from anml.core.checks import one_of
from anml.io.contributions import ANNOTATION, IS_TRUTH, KNOWN, PLATFORMS, REVIEWED, Chosen, last_reviews
from anml.io.file import InputFile
from anml.io.formats import AUTO, FORMATS, TABLE, detect_format, read_export
from anml.io.images import read_folder
from anml.io.tables import Table, parquet_files, read_parts
from anml.io.tasks.ordinal import read_grades
from anml.io.tasks.read import SPAN_FORMATS, export_task_type, infer_task_type, read_structured
from anml.io.tasks.types import ORDINAL, TASK_TYPES, StructuredTask
from anml.signals.policy import AttestationRecord, Policy

# The columns by which rows written by `anml-ledger import --out` are known.
IMPORTED = ("item", "contributor", "label", "verification", "reputation", "level", "evidence", "batch")
# The name of that format, and the columns that name the evidence of a row.
LEDGER_ROWS, EVIDENCE_COLUMNS = "ledger rows", ("level", "evidence")
# Columns that are neither a role nor a feature.
EXTRA_COLUMNS = ("level", "evidence", "batch", "truth", KNOWN, REVIEWED, ANNOTATION)


class Source(NamedTuple):
    """A table with the `roles` of its columns, the `others`, which are not features, and its `question`.

    `about_v` says where v comes from; `shape` is what other labels were made of; `path` is where it was read
    from.
    """

    table: Table
    format: str
    roles: dict[str, str]
    others: tuple[str, ...]
    notes: list[str]
    warnings: list[str]
    about_v: str = ""
    question: str | None = None
    shape: StructuredTask | None = None
    path: Path | None = None


def read_source(path: Path, format: str, given: Chosen) -> Source:
    """Read a file as what it is; `given` are the columns, or the question, that were named."""
    one_of("format", format, (AUTO, *FORMATS, *SPAN_FORMATS))
    asked = given.get("task")
    if path.is_dir() and format in (AUTO, TABLE):
        parts = parquet_files(path)
        table = read_parts(path) if parts else read_folder(path)
        shape = asked if asked in TASK_TYPES else None
        if asked == AUTO and not parts:
            # The table beside images may hold boxes.
            shape = infer_task_type(table.frame, given)
        source = (
            table_source(table)
            if shape is None
            else structured_source(table, TABLE, {**given, "task": shape})
        )
        return source._replace(path=path)
    file = InputFile(path)
    detected = detect_format(file) if format == AUTO else format
    shape = asked if asked in TASK_TYPES else export_task_type(file, detected) if asked == AUTO else None
    if asked == AUTO and detected == TABLE:
        shape = infer_task_type(file.table.frame, given)
    if shape is not None:
        source = structured_source(file, detected, {**given, "task": shape})
    else:
        source = table_source(file.table) if detected == TABLE else _export(file, detected, given)
    return source._replace(path=path)


def structured_source(file: InputFile | Table, format: str, given: Chosen) -> Source:
    """Judgements of another shape than classes, as labels of items."""
    roles = {"label": "label", "contributor": "contributor", "item": "item"}
    warnings, about_v = [], ""
    if given["task"] == ORDINAL and isinstance(file, InputFile) and format != TABLE:
        # A grade is one label of an item: exports are read as those of classes are.
        plain = _export(file, format, given)
        made = read_grades(plain.table.frame, {**given, **roles})
        roles, warnings, about_v = dict(plain.roles), plain.warnings, plain.about_v
    else:
        made = read_structured(file, str(given["task"]), format, given)
    name, rows = file.name if isinstance(file, Table) else file.path.name, made.rows
    if IS_TRUTH in rows.columns:
        # What somebody said in an annotation that is the ground truth is known.
        rows = rows.with_columns(pl.when(IS_TRUTH).then("label").alias(KNOWN)).drop(IS_TRUTH)
        roles |= {KNOWN: KNOWN} if rows[KNOWN].null_count() < rows.height else {}
    others = tuple(column for column in rows.columns if column not in roles.values())
    table = Table(rows, name, file.sha256)
    notes = [f"{name} is judged as {made.shape.kind}", *made.notes]
    warnings = [*warnings, *made.warnings]
    asked, shape = given.get("label"), made.shape._replace(nested=bool(given.get("nested")))
    return Source(table, format, roles, others, notes, warnings, about_v, asked, shape)


def table_source(table: Table) -> Source:
    """A table as it is, or as rows that a ledger gave out, by its columns."""
    if not set(IMPORTED) <= set(table.frame.columns):
        return Source(table, TABLE, {}, (), [], [])
    roles = {name: name for name in ("label", "contributor", "item", "verification", "reputation")}
    if "truth" in table.frame.columns and table.frame["truth"].null_count() < table.frame.height:
        roles[KNOWN] = "truth"
    others = tuple(name for name in EXTRA_COLUMNS if name in table.frame.columns)
    note = f"{table.name} was read as rows of `anml-ledger import`"
    about_v = "v and r are those of the time of that import"
    return Source(table, LEDGER_ROWS, roles, others, [note], [], about_v)


def _export(file: InputFile, format: str, given: Chosen) -> Source:
    _, contributions = read_export(file, format, given)
    rows = contributions.rows
    rows = rows.select(name for name in rows.columns if rows[name].null_count() < rows.height)
    people = rows["contributor"].n_unique()
    notes = [f"{file.path.name} was read as {format}: {rows.height} labels by {people} contributors"]
    # What the file knows of its labels: gold answers, and what reviewers said of single labels.
    truth = pl.col("truth") if "truth" in rows.columns else pl.lit(None, pl.String)
    if IS_TRUTH in rows.columns:
        truth = truth.fill_null(pl.when(IS_TRUTH).then("label"))
    rows = rows.with_columns(truth.alias(KNOWN))
    # An item has one right label; where answers differ, each holds for its own row.
    single = pl.col(KNOWN).drop_nulls().n_unique().over("item") == 1
    shared = pl.when(single).then(pl.col(KNOWN).drop_nulls().first().over("item"))
    rows = rows.with_columns(pl.col(KNOWN).fill_null(shared)).drop(IS_TRUTH, strict=False)
    # What the last reviewer said of a label; of one that was mended, nothing.
    kinds = {"review-accepted": True, "review-rejected": False, "fixed": None}
    last = last_reviews(contributions.evidence, ~pl.col("issuer").is_in(list(PLATFORMS)))
    accepted = pl.col("kind").replace_strict(kinds, return_dtype=pl.Boolean).alias(REVIEWED)
    reviewed = last.select("item", "contributor", accepted)
    rows = rows.join(reviewed, on=["item", "contributor"], how="left", maintain_order="left")
    known_columns = [name for name in (KNOWN, REVIEWED) if rows[name].null_count() < rows.height]
    rows = rows.drop({KNOWN, REVIEWED} - {*known_columns})
    roles, about_v = {name: name for name in ("label", "contributor", "item", *known_columns)}, ""
    if not contributions.evidence.is_empty():
        v = _v_from_reviews(contributions.rows, contributions.evidence)
        rows = rows.with_columns(pl.Series("verification", v, dtype=pl.Float64))
        roles["verification"] = "verification"
        reviews = (
            f"v comes from the {contributions.evidence.height} reviews in this file, which nobody signed"
        )
        about_v = f"{reviews}; `anml-ledger import --out` writes rows with v from evidence on record"
    others = tuple(name for name in EXTRA_COLUMNS if name in rows.columns)
    table, asked = Table(rows, file.path.name, file.sha256), given.get("label")
    return Source(table, format, roles, others, notes, contributions.warnings, about_v, asked)


def _v_from_reviews(rows: pl.DataFrame, evidence: pl.DataFrame) -> list[float | None]:
    """Compute v of each row from the reviews in its file; rows without a review have no v."""
    records: dict[tuple[str, str], list[AttestationRecord]] = {}
    for number, row in enumerate(evidence.iter_rows(named=True)):
        kind = "review-accepted" if row["kind"] == "fixed" else row["kind"]
        at = datetime.fromisoformat(row["at"]).timestamp() if row["at"] else 0.0
        key = row["contributor"], row["item"]
        record = AttestationRecord(
            number, kind, row["contributor"], row["issuer"], at, None, "platform", row["item"]
        )
        records.setdefault(key, []).append(record)
    pairs = rows.select("contributor", "item").iter_rows()
    verdicts = (Policy().judge(records.get(pair, []), float("inf")) for pair in pairs)
    return [verdict.v if verdict.evidence else None for verdict in verdicts]
