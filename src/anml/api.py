"""The public functions: audit data, read a run, compare two runs, value contributors."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import polars as pl

from anml.core.checks import Ints
from anml.core.errors import InputError, UnsupportedError
from anml.core.files import read_text, write_file
from anml.core.progress import Progress
from anml.core.stats import Estimate
from anml.core.types import ORDINAL, PREFERENCE, TASK_TYPES, Gate, Recipe, Weighting
from anml.engines.options import ENGINES, Local, audit_in_slices, holds_parquet
from anml.pipeline.dtypes import align_by_index, restore_types
from anml.pipeline.request import AuditOptions, Request
from anml.pipeline.sources import apply_source, attach_provenance, folder_of, read
from anml.report.progress import progress_shown
from anml.schema import Encoder, Schema, options_from
from anml.tasks import Task, task_of
from anml.weighting.weigh import recipe_of

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

ProgressOption = bool | Callable[[str, int, int], None] | None
# Tables of structured tasks.
TASK_TABLES = ("ranking", "spans", "boxes", "tags", "ordinal")
# Prefixes of models that encode images or texts.
ENCODER_MODELS = ("torchvision:", "timm:", "sentence-transformers:")


class Audit:
    """The result of an audit.

    Attributes
    ----------
    samples, contributors, consensus
        Frames of the library of the data, polars for a file: one row per label, per contributor and per item
        with several labels (None if items have one label each). `samples` of a pandas frame keeps its index.
    tables
        Frames of structured tasks by name: `ranking`, `spans`, `boxes`, `tags`, `ordinal`.
    label_error_rate
        Estimated share of wrong labels: mean, low, high.
    disputed_share
        Share of rows on the contradicting side; None if the result is not disputed.
    weighting, gate
        Weights and kept rows in the order of `samples`; the weighting rule that was applied, and its reason.
    evaluation
        Error with equal weights and with these weights; None if not measured.
    notes, warnings
        Sentences about inferred and excluded columns, and about problems of the data.
    """

    def __init__(
        self, record: dict[str, Any], frames: dict[str, Any], *, result: "AuditResult | None" = None,
        folder: Path | None = None, like: Any = None, table: Any = None,
    ) -> None:  # fmt: skip
        self._record, self._result, self._folder, self._like, self._table = (
            record,
            result,
            folder,
            like,
            table,
        )
        self.samples: Any = frames["samples"]
        self.contributors: Any = frames["contributors"]
        self.consensus: Any = frames["consensus"]
        self.tables: dict[str, Any] = frames["tables"]
        self.label_error_rate = Estimate(**record["label_error_rate"])
        self.disputed_share: float | None = record["disputed_share"]
        self.gate = Gate(**record["gate"])
        self.evaluation: dict[str, Any] | None = record["evaluation"]
        self.notes: list[str] = list(record["notes"])
        self.warnings: list[str] = list(record["warnings"])

    @classmethod
    def from_result(
        cls, result: "AuditResult", like: Any = None, table: Any = None, folder: Path | None = None
    ) -> Self:
        """Return the audit of a result in memory; an engine has written its samples to `folder`."""
        from anml.pipeline.result import run_metadata

        def native(frame: pl.DataFrame | None, rows: Ints | None = None) -> Any:
            return None if frame is None else to_native(restore_types(frame, result.kinds), like, rows)

        # Rows of tags, spans and boxes are made of those of a table, and have no index in it.
        same = result.kind in (None, PREFERENCE, ORDINAL)
        rows = result.samples["row"].to_numpy() if same else None
        shown = native(result.samples, rows) if folder is None else pl.scan_parquet(folder / "samples")
        structured = {} if result.structured is None else result.structured.tables
        frames = {
            "samples": shown,
            "contributors": native(result.contributors),
            "consensus": native(result.consensus),
            "tables": {name.removesuffix(".csv"): native(frame) for name, frame in structured.items()},
        }
        record = run_metadata(result, "audit")
        return cls(record, frames, result=result, folder=folder, like=like, table=table)

    @property
    def weighting(self) -> Weighting:
        """Weights and kept rows in the order of `samples`."""
        frame = self._samples().select("weight", "kept")
        settings = dict(self._record["recipe"])
        return Weighting(frame["weight"].to_numpy(), frame["kept"].to_numpy(), self.gate, recipe_of(settings))

    def sample_weight(self) -> Any:
        """Return weights for a learner in the order of `samples`: 0 where not kept, mean 1 over the rest."""
        return self.weighting.sample_weight()

    def _samples(self) -> pl.DataFrame:
        if isinstance(self.samples, pl.LazyFrame):
            return self.samples.collect()
        return self.samples if self._result is None else self._result.samples

    def weights_for(self, data: Any, key: str | None = None) -> Weighting:
        """Return the weights of the rows of a dataset, in its order; rows that were not audited are not kept.

        `data` is a frame, a dataset of Hugging Face (with labels, or with prompt, chosen and rejected), a
        Dataset or DataLoader of torch, or a list of examples. `key` is a column that both have and that names
        each row once. Without it rows are found by the index of a pandas frame, or by position: columns of
        the same name must then be equal, or it is an error.
        """
        from anml.pipeline.align import weights_for, weights_from_run

        if self._table is None:
            return weights_from_run(self._samples(), self._record, self.weighting, data, key)
        assert self._result is not None
        index = getattr(self._like, "index", None) if key is None else None
        return weights_for(self._result, self._table.frame, data, key, index)

    def review_queue(self, n: int | None = None) -> Any:
        """Return the items to review, sorted by expected gain, as a frame of the kind that was audited."""
        queue = self._queue(n)
        return to_native(restore_types(queue.rows, self._kinds()), self._like)

    def export_review(self, path: str | Path, *, n: int | None = None, format: str = "auto") -> Path:
        """Write the review queue for a labelling tool: `label-studio`, `argilla` or `csv`."""
        from anml.pipeline.review_queue import queue_input_from_run
        from anml.pipeline.rounds import source_of, source_of_audit
        from anml.review.files import write_queue

        if self._result is not None:
            source = source_of_audit(self._result, self._table)
        else:
            assert self._folder is not None
            source = source_of(queue_input_from_run(self._folder), self._folder, None)
        write_queue(self._queue(n), source, format, Path(path))
        return Path(path)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the report as one self-contained HTML file."""
        if self._result is None:
            assert self._folder is not None
            write_file(Path(path), read_text(self._folder / "report.html", "report"))
            return Path(path)
        from anml.report.html import render_report

        write_file(Path(path), render_report(self._result))
        return Path(path)

    def save(self, folder: str | Path) -> list[str]:
        """Write the run into a folder: samples, contributors, consensus, run.json and report.html."""
        from anml.pipeline.write import write_run
        from anml.report.html import write_report

        if (result := self._result) is None or self._table is None:
            raise UnsupportedError(f"this run is saved already, in {self._folder}")
        return write_run(Path(folder), result, "audit", lambda draft: write_report(result, draft))

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the run with its contributors, as `anml audit --json` prints it."""
        result = self.contributors if self._result is None else self._result.contributors
        return {**self._record, "contributors": result.to_dicts()}

    def _queue(self, n: int | None) -> Any:
        from anml.pipeline.review_queue import build_queue, queue_input_from_result, queue_input_from_run

        if self._result is not None:
            return build_queue(queue_input_from_result(self._result), n)
        assert self._folder is not None
        return build_queue(queue_input_from_run(self._folder), n)

    def _kinds(self) -> Mapping[str, pl.DataType]:
        from anml.pipeline.read import read_run

        if self._result is not None:
            return self._result.kinds
        assert self._folder is not None
        return read_run(self._folder).kinds

    def __repr__(self) -> str:
        if self._result is None:
            rows, kept, rate = self._record["rows"], self._record["kept"], self.label_error_rate
            return (
                f"Run in {self._folder}: {kept:,} of {rows:,} rows kept, about {rate.mean:.0%} "
                f"({rate.low:.0%} to {rate.high:.0%}) of labels wrong."
            )
        from anml.report.summary import summary, weighting_sentences

        text = summary(self._result)
        lines = [
            *([text.dispute] if text.dispute else []),
            *(f"{question}: {answer}" for question, answer in text.lines()),
            *weighting_sentences(self._result),
            *(f"note: {note}" for note in self.notes),
            *(f"warning: {warning}" for warning in self.warnings),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        from anml.report.html import render_card

        return None if self._result is None else render_card(self._result)


def audit(
    data: Any,
    label: str | None = None,
    contributor: str | None = None,
    *,
    item: str | None = None,
    features: Sequence[str] | None = None,
    task: str | Task = "auto",
    schema: Schema | Mapping[str, Any] | None = None,
    predictions: Any = None,
    embeddings: Any = None,
    recipe: str | Recipe | Mapping[str, Any] = "evidence",
    evaluate: Any = True,
    engine: Local | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressOption = None,
) -> Audit:
    """Estimate how likely each label is correct and how reliable each contributor is, and weight the rows.

    Parameters
    ----------
    data
        Path of a table (.csv, .csv.gz, .tsv, .parquet, .xlsx), of an export of a labelling tool, or of a
        folder of images; or a pandas, polars or Arrow frame.
    label, contributor, item
        Columns with the given label, with the person or source that gave it, and with the thing that is
        labelled. Rows of one item are labels of the same thing. A column that is not named is inferred from
        its name and values, and the result says so.
    features
        Columns that a model may read; all that are left, when not given.
    task
        `"auto"`, `"classification"`, `"regression"`, `"ordinal"`, `"preferences"`, `"spans"`, `"boxes"`,
        `"tags"`, or an object of `anml.tasks`, which holds the columns and options of that task.
    schema
        Columns with other roles and the format of the file: an `anml.Schema` or a dict of its fields.
    predictions
        Held-out predictions, made by models that were not trained on the row: an array or frame of
        probabilities (rows, classes), classes in sorted order; of numbers (rows,); or a path.
    embeddings
        Vectors in place of feature columns: an array (rows, dimensions), a frame, a path, the name of a model
        such as `"torchvision:resnet18"`, or an `anml.Encoder`.
    recipe
        Name in `anml.RECIPES`, an `anml.Recipe`, or a dict of the settings that differ.
    evaluate
        True compares equal weights with these weights by cross-validation, False compares nothing; a table
        with correct labels (path or frame) measures both on it.
    engine
        `anml.engines.Local(out)` or `anml.engines.Ray(out)` for Parquet files with more rows than memory. The
        run is written to the folder `out`; `samples` is then a lazy frame.
    random_state
        Seed. The same seed gives the same result on one machine with the same versions.
    n_jobs
        Processes of trees and of cross-validation: None is one, -1 all cores. Networks use one thread.
    progress
        None shows progress of a run that takes longer than two seconds, True always, False never; or a
        function of (step, done, total). Without a terminal or a notebook, lines go to the logger `anml`.

    Examples
    --------
    >>> rows = [
    ...     {"text": i, "label": "bad" if who == "eve" else "ok", "annotator": who}
    ...     for i in range(20) for who in ("ann", "bob", "cat", "eve")
    ... ]
    >>> found = audit(pl.DataFrame(rows), "label", "annotator", item="text", evaluate=False)
    >>> sorted(found.consensus["consensus_label"].unique())
    ['ok']
    """
    options = audit_options(
        label=label, contributor=contributor, item=item, features=features, task=task, schema=schema,
        predictions=predictions, embeddings=embeddings, recipe=recipe, evaluate=evaluate,
        random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    # Embeddings of preferences belong to candidates, not to rows.
    if options.request.key is None and options.task.name != PREFERENCE:
        sides = ("predictions", "embeddings")
        aligned = {name: align_by_index(name, getattr(options.request, name), data) for name in sides}
        options = replace(options, request=replace(options.request, **aligned))
    result, table = run_audit(data, options, engine, progress_shown(progress))
    like = None if isinstance(data, str | Path) else data
    return Audit.from_result(result, like, table, None if engine is None else Path(engine.out))


def audit_options(
    *, schema: Any = None, task: Any = "auto", embeddings: Any = None, recipe: Any = "evidence",
    evaluate: Any = True, random_state: int = 0, n_jobs: int | None = None, **columns: Any,
) -> AuditOptions:  # fmt: skip
    """Check the arguments of `audit`, and return them as one object."""
    roles = options_from(Schema, schema)
    named = {name: getattr(roles, name) for name in Schema.__dataclass_fields__ if name != "format"}
    encoder = encoder_of(embeddings)
    asked = Request(
        **columns, **named, task=task_of(task), recipe=recipe, seed=random_state,
        evaluate=evaluate is not False, embeddings=None if encoder is not None else embeddings,
        n_jobs=n_jobs,
    )  # fmt: skip
    asked.check()
    test = None if isinstance(evaluate, bool) else evaluate
    return AuditOptions(request=asked, format=roles.format, encoder=encoder, test=test)


def encoder_of(embeddings: Any) -> Encoder | None:
    """Return an encoder from an encoder, the name of a model, or a function; None for vectors or a path."""
    if isinstance(embeddings, Encoder):
        return embeddings
    named = isinstance(embeddings, str) and embeddings.startswith(ENCODER_MODELS)
    return Encoder(model=embeddings) if named else None


def run_audit(
    data: Any, options: AuditOptions, engine: Local | None, shown: AbstractContextManager[Progress | None]
) -> "tuple[AuditResult, Any]":
    """Return the result of an audit and the table that was read; the table is None for an engine."""
    if engine is not None or (holds_parquet(data) and options.task.name not in TASK_TYPES):
        return _run_in_slices(data, options, engine, shown), None
    # Errors of the file are raised before the heavy imports.
    source = read(data, options)
    request = apply_source(options.request, source)
    if source.shape is not None:
        _refuse_unused(source.shape.kind, options)
        from anml.pipeline.tasks.dispatch import audit_shape

        with shown as progress:
            result = audit_shape(source, request, progress)
        return attach_provenance(result, source, data, options), source.table
    from joblib import parallel_config

    from anml.pipeline.media import audit_media

    with shown as progress, parallel_config(backend="threading", n_jobs=options.request.n_jobs or 1):
        result = audit_media(
            source.table, request, options.encoder, folder_of(data), test=options.test, progress=progress
        )
    return attach_provenance(result, source, data, options), source.table


def _optional_inputs(options: AuditOptions) -> tuple[tuple[str, Any], ...]:
    return ("a test table", options.test), ("an encoder", options.encoder)


def _refuse_unused(kind: str, options: AuditOptions) -> None:
    """Raise an error for inputs that a structured task does not use."""
    for name, given in _optional_inputs(options):
        if given is not None:
            raise UnsupportedError(f"the task {kind} does not use {name}; leave it out")


def _run_in_slices(
    data: Any, options: AuditOptions, engine: Local | None, shown: AbstractContextManager[Progress | None]
) -> "AuditResult":
    from anml.report.html import write_report

    if engine is None:
        raise InputError("a folder of Parquet files is audited by an engine: engine=anml.engines.Local(out)")
    if not isinstance(engine, Local):
        raise InputError(f"engine must be one of {', '.join(ENGINES)} of anml.engines, got {engine!r}")
    for name, given in _optional_inputs(options):
        if given is not None:
            raise UnsupportedError(f"{name} needs all rows in memory; leave out {name} or the engine")
    if options.task.name in TASK_TYPES:
        raise UnsupportedError(f"{options.task.name} needs all rows in memory; leave out the engine")
    with shown as progress:
        request = replace(options.request, evaluate=False)
        return audit_in_slices(data, request, engine, progress, write_report)


def to_native(frame: pl.DataFrame, like: Any | None, rows: Ints | None = None) -> Any:
    """Return a frame of the kind of `like`, else polars; `rows` find the index of a pandas frame."""
    if nw.dependencies.is_pandas_dataframe(like):
        try:
            made = frame.to_pandas()
        except ModuleNotFoundError:
            import pandas

            made = pandas.DataFrame({series.name: series.to_list() for series in frame.get_columns()})
        return made if rows is None else made.set_axis(like.index.take(rows), axis=0)
    return frame.to_arrow() if nw.dependencies.is_pyarrow_table(like) else frame


class RunComparison:
    """Two runs side by side.

    `contributors` has one row per contributor with accuracy before and after, and `changed` where the change
    is significant; `rows` are labels that moved; `figures` pairs of figures of the runs.
    """

    def __init__(self, before: Path, after: Path) -> None:
        from anml.pipeline.compare_runs import compare_runs as compare

        self.before, self.after, self.result = before, after, compare(before, after)
        self.contributors, self.rows = self.result.people, self.result.rows
        self.figures: dict[str, tuple[float, float]] = self.result.figures

    def report(self, path: str | Path = "comparison.html") -> Path:
        """Write the comparison as one self-contained HTML file."""
        from anml.report.comparison import comparison_page

        write_file(Path(path), comparison_page(self.before.name, self.after.name, self.result))
        return Path(path)

    def __repr__(self) -> str:
        from anml.report.comparison import comparison_sentences

        return "\n".join(comparison_sentences(self.result))


def compare_runs(before: str | Path, after: str | Path) -> RunComparison:
    """Compare two run folders: contributors whose accuracy changed significantly, and labels that moved."""
    return RunComparison(Path(before), Path(after))


class ContributorValues:
    """Values of contributors.

    `contributors` is a frame of the kind that was passed in, the most valuable first: value, its 95%
    interval, rows, rows that count, value per row, share. `notes` say how the value was measured; `exact` is
    True where every coalition was evaluated.
    """

    def __init__(self, result: Any, like: Any) -> None:
        self.result = result
        self.contributors: Any = to_native(result.contributors, like)
        self.notes: list[str] = result.record["notes"]
        self.exact: bool = result.record["exact"]

    def save(self, folder: str | Path) -> list[str]:
        """Write values.csv, multipliers.csv (for `anml-ledger settle --multiplier`) and value.json."""
        from anml.pipeline.contributor_values import write_value

        return write_value(Path(folder), self.result)

    def __repr__(self) -> str:
        best, record = self.result.contributors.row(0, named=True), self.result.record
        how = "exact" if self.exact else f"from {record['n_evaluations']} coalitions"
        values = f"{record['method']} values of {self.result.contributors.height} contributors, {how}"
        return f"{values}; {best['contributor']} has the highest, {best['value']:.4g}"


def contributor_values(
    data: Any,
    label: str | None = None,
    contributor: str | None = None,
    *,
    features: Sequence[str] | None = None,
    task: str = "auto",
    schema: Schema | Mapping[str, Any] | None = None,
    test: Any = None,
    method: str = "banzhaf",
    estimator: Any = "linear",
    scoring: str | Callable[[Any, Any], float] | None = None,
    n_evaluations: int = 2_000,
    run: str | Path | None = None,
    random_state: int = 0,
    progress: ProgressOption = None,
) -> ContributorValues:
    """Estimate the value of each contributor's rows to a model, as Shapley or Banzhaf values.

    Parameters
    ----------
    data, label, contributor, features, task, schema
        As in `audit`. With `Schema(time=)`, a row that several contributors sent belongs to the first.
    test
        A table with correct labels (path or frame); without it, rows are held out.
    method
        `"banzhaf"`, which splitting and copying do not raise, `"shapley"` or `"beta-shapley"`.
    estimator
        `"linear"`, `"mlp"`, or an object with `fit` and `predict`.
    scoring
        `"accuracy"`, `"balanced-accuracy"`, `"r2"` or `"minus-rmse"`; with an estimator of your own also a
        function of truth and prediction, the higher the better.
    n_evaluations
        Largest number of coalitions to evaluate; exact where there are no more.
    run
        Folder of a run of this table: only the rows that it keeps are valued.
    random_state, progress
        As in `audit`.
    """
    from anml.pipeline.contributor_values import ValueRequest, compute_values

    roles = options_from(Schema, schema)
    request = ValueRequest(
        label=label, contributor=contributor, time=roles.time, features=features, ignore=roles.ignore,
        task=task, method=method, model=estimator, metric=scoring, budget=n_evaluations, seed=random_state,
    )  # fmt: skip
    place = None if run is None else Path(run)
    with progress_shown(progress) as report:
        result = compute_values(data, request, test=test, run=place, progress=report)
    return ContributorValues(result, None if isinstance(data, str | Path) else data)


def load_run(folder: str | Path) -> Audit:
    """Read a run folder back, as the `Audit` that wrote it."""
    from anml.pipeline.read import read_consensus, read_contributors, read_run

    place = Path(folder)
    run = read_run(place)
    listed = read_contributors(place, run)
    contributors = pl.DataFrame(schema={"contributor": pl.String}) if listed is None else listed
    structured = sorted(path.stem for path in place.glob("*.csv") if path.stem in TASK_TABLES)
    frames = {
        "samples": restore_types(run.samples, run.kinds),
        "contributors": restore_types(contributors, run.kinds),
        "consensus": read_consensus(place, run),
        "tables": {name: pl.read_csv(place / f"{name}.csv") for name in structured},
    }
    return Audit(run.info, frames, folder=place)
