"""What an audit reads: a table, the export of a labelling tool, or rows that the ledger gave out."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from anml.core.checks import one_of
from anml.core.signals.policy import Evidence, Policy
from anml.intake.contributions import ANNOTATION, IS_TRUTH, KNOWN, PLATFORMS, REVIEWED, Chosen, last_reviews
from anml.intake.exports import AUTO, FORMATS, TABLE, read_export, recognise
from anml.intake.file import File
from anml.intake.pictures import read_folder
from anml.intake.shapes.grades import read_grades
from anml.intake.shapes.read import SPAN_FORMATS, reduced, table_shape, told_shape
from anml.intake.shapes.shape import GRADES, SHAPES, Shape
from anml.intake.tables import Table, parquet_files, read_parts

# The columns by which rows written by `anml ledger import --out` are known.
IMPORTED = ("item", "contributor", "label", "verification", "reputation", "level", "evidence", "batch")
# Of these, what is neither a role nor a feature.
BESIDE = ("level", "evidence", "batch", "truth", KNOWN, REVIEWED, ANNOTATION)


class Source(NamedTuple):
    """A table with the `roles` of its columns, those `beside` that are no features, and an export's question.

    `accounts` is the place that contributors' names belong to, "" where they are a ledger's identifiers;
    `about_v` says where v comes from while no ledger is asked; `shape` is what other labels were made of;
    `path` is where it was read from.
    """

    table: Table
    format: str
    accounts: str
    roles: dict[str, str]
    beside: tuple[str, ...]
    notes: list[str]
    warnings: list[str]
    about_v: str = ""
    question: str | None = None
    shape: Shape | None = None
    path: Path | None = None


def read_source(path: Path, format: str, given: Chosen) -> Source:
    """Read a file as what it is; `given` are the columns, or the question, that were named."""
    one_of("format", format, (AUTO, *FORMATS, *SPAN_FORMATS))
    asked = given.get("task")
    if path.is_dir() and format in (AUTO, TABLE):
        parts = parquet_files(path)
        table, shaped = read_parts(path) if parts else read_folder(path), parts and asked in SHAPES
        source = shaped_source(table, TABLE, given) if shaped else plain_source(table)
        return source._replace(path=path)
    file = File(path)
    found = recognise(file) if format == AUTO else format
    shape = asked if asked in SHAPES else told_shape(file, found) if asked == AUTO else None
    if asked == AUTO and found == TABLE:
        shape = table_shape(file.table.frame, given)
    if shape is not None:
        source = shaped_source(file, found, {**given, "task": shape})
    else:
        source = plain_source(file.table) if found == TABLE else _export(file, found, given)
    return source._replace(path=path)


def shaped_source(file: File | Table, format: str, given: Chosen) -> Source:
    """Judgements of another shape than classes, as labels of items."""
    roles = {"label": "label", "contributor": "contributor", "item": "item"}
    warnings, about_v = [], ""
    if given["task"] == GRADES and isinstance(file, File) and format != TABLE:
        # A grade is one label of an item: exports are read as those of classes are.
        plain = _export(file, format, given)
        made = read_grades(plain.table.frame, {**given, **roles})
        roles, warnings, about_v = dict(plain.roles), plain.warnings, plain.about_v
    else:
        made = reduced(file, str(given["task"]), format, given)
    name, rows = file.name if isinstance(file, Table) else file.path.name, made.rows
    if IS_TRUTH in rows.columns:
        # What somebody said in an annotation that is the ground truth is known.
        rows = rows.with_columns(pl.when(IS_TRUTH).then("label").alias(KNOWN)).drop(IS_TRUTH)
        roles |= {KNOWN: KNOWN} if rows[KNOWN].null_count() < rows.height else {}
    beside = tuple(column for column in rows.columns if column not in roles.values())
    table = Table(rows, name, file.sha256)
    notes = [f"{name} is judged as {made.shape.kind}", *made.notes]
    warnings = [*warnings, *made.warnings]
    asked, shape = given.get("label"), made.shape._replace(nested=bool(given.get("nested")))
    return Source(table, format, format, roles, beside, notes, warnings, about_v, asked, shape)


def plain_source(table: Table) -> Source:
    """A table as it is, or as rows that a ledger gave out, by its columns."""
    if not set(IMPORTED) <= set(table.frame.columns):
        return Source(table, TABLE, TABLE, {}, (), [], [])
    roles = {name: name for name in ("label", "contributor", "item", "verification", "reputation")}
    if "truth" in table.frame.columns and table.frame["truth"].null_count() < table.frame.height:
        roles[KNOWN] = "truth"
    beside = tuple(name for name in BESIDE if name in table.frame.columns)
    note = f"{table.name} was read as rows of `anml ledger import`"
    about_v = "v and r are those of the time of that import; with --ledger they are those of now"
    return Source(table, "ledger rows", "", roles, beside, [note], [], about_v)


def _export(file: File, format: str, given: Chosen) -> Source:
    _, found = read_export(file, format, given)
    rows = found.rows
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
    last = last_reviews(found.evidence, ~pl.col("issuer").is_in(list(PLATFORMS)))
    accepted = pl.col("kind").replace_strict(kinds, return_dtype=pl.Boolean).alias(REVIEWED)
    reviewed = last.select("item", "contributor", accepted)
    rows = rows.join(reviewed, on=["item", "contributor"], how="left", maintain_order="left")
    told = [name for name in (KNOWN, REVIEWED) if rows[name].null_count() < rows.height]
    rows = rows.drop({KNOWN, REVIEWED} - {*told})
    roles, about_v = {name: name for name in ("label", "contributor", "item", *told)}, ""
    if not found.evidence.is_empty():
        v = _earned(found.rows, found.evidence)
        rows = rows.with_columns(pl.Series("verification", v, dtype=pl.Float64))
        roles["verification"] = "verification"
        reviews = f"v comes from the {found.evidence.height} reviews in this file, which nobody signed"
        about_v = f"{reviews}; with --ledger it comes from evidence on record"
    beside = tuple(name for name in BESIDE if name in rows.columns)
    table, asked = Table(rows, file.path.name, file.sha256), given.get("label")
    return Source(table, format, found.source, roles, beside, notes, found.warnings, about_v, asked)


def _earned(rows: pl.DataFrame, evidence: pl.DataFrame) -> list[float | None]:
    """What each row earns by the reviews in its own file; those that no review is about have no v."""
    records: dict[tuple[str, str], list[Evidence]] = {}
    for number, row in enumerate(evidence.iter_rows(named=True)):
        kind = "review-accepted" if row["kind"] == "fixed" else row["kind"]
        at = datetime.fromisoformat(row["at"]).timestamp() if row["at"] else 0.0
        who = row["contributor"], row["item"]
        record = Evidence(number, kind, row["contributor"], row["issuer"], at, None, "platform", row["item"])
        records.setdefault(who, []).append(record)
    pairs = rows.select("contributor", "item").iter_rows()
    verdicts = (Policy().judge(records.get(pair, []), float("inf")) for pair in pairs)
    return [verdict.v if verdict.evidence else None for verdict in verdicts]
