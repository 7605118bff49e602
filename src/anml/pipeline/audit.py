"""Audit of a table: weights, contributors, consensus, and the effect of the weights on a model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from anml.annotators.result import LabelEstimates
from anml.annotators.words import SEVERITY_ORDER
from anml.assessment.assess import Assessment, SampleInfo, SamplePolicy, assess
from anml.assessment.contributors import contributor_frame
from anml.core.checks import Floats
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress
from anml.core.types import Gate, Weighting
from anml.io.cleaning import Cleaning, CleaningOptions, clean_table
from anml.io.columns import Columns, choose_columns, key_columns
from anml.io.labels import match_set_spelling, normalise_sets, read_targets
from anml.io.plain import as_text
from anml.io.prepare import Prepared, prepare
from anml.io.roles import ROLES, format_names
from anml.io.side_inputs import SideInputs
from anml.io.tables import Table, read_table
from anml.io.unsupported import reject_structured_table
from anml.pipeline.consensus_table import item_frame, suggestions
from anml.pipeline.data_warnings import add_copy_columns, add_median_seconds, check_data, require_item_column
from anml.pipeline.dtypes import column_types
from anml.pipeline.evaluate import Comparison, compare_weightings
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult, evaluate_on_gold, versions
from anml.pipeline.review_queue import TRUE_LABEL
from anml.pipeline.side_checks import check_side_inputs

# Columns of samples that come first, in this order.
FIRST_COLUMNS = (
    "row", "contributor", "item", "label", "p_correct", "suggested_label", "p_suggested_label", "weight",
    "sample_weight", "kept", "predicted_label", "self_confidence",
)  # fmt: skip


def audit_table(
    data: Any, request: Request, *, test: Any = None, progress: Progress | None = None,
    check_prepared: Callable[[Prepared], None] | None = None,
    believe: Callable[[Prepared], LabelEstimates] | None = None, prior: Floats | None = None,
) -> tuple[AuditResult, Prepared, Assessment]:  # fmt: skip
    """Audit a table given by path or as a frame; `check_prepared` may refuse it before the work."""
    policy = request.policy()
    table = data if isinstance(data, Table) else read_table(data)
    columns, notes = resolve_columns(table.frame, request)
    done = clean_columns(table, columns, request)
    table, notes = replace(table, frame=done.frame), [*notes, *done.notes]
    unused = request.ignore
    if request.features is not None:
        unused = [name for name in table.frame.columns if name not in request.features]
    reject_structured_table(table.frame, columns, unused)
    ordered, true_label_sets = normalise_sets(table.frame, columns.label, columns.true_label)
    table, notes = replace(table, frame=ordered), [*notes, *true_label_sets]
    extra = SideInputs(request.predictions, request.embeddings, request.key)
    prepared = prepare(
        table, columns, task=request.label_type, now=request.reference_time, seed=request.seed,
        side_inputs=extra, excluded=done.excluded,
    )  # fmt: skip
    prepared.warnings[:0] = done.warnings
    require_item_column(prepared)
    if check_prepared is not None:
        check_prepared(prepared)
    prepared.warnings.extend(_side_warnings(table, prepared, request))
    notes += _notes(prepared, request, columns.features)
    tested = None if test is None else testing_arrays(test, prepared, columns)
    info = _sample_info(prepared, request, prior)
    assessed = assess(
        prepared.x, prepared.y, prepared.task, max(len(prepared.classes), 1), info, policy,
        progress=progress, believed=None if believe is None else believe(prepared),
    )  # fmt: skip
    comparing = request.evaluate and prepared.x.shape[1] > 0
    comparison = _comparison(prepared, assessed, request.seed, tested, progress) if comparing else None
    result = _build_result(table, columns, prepared, assessed, comparison, request, policy, notes)
    # The spellings that were joined, by role, for run.json.
    spellings = {"spellings": done.joined} if done.joined else {}
    return replace(result, data=result.data | spellings), prepared, assessed


def clean_columns(table: Table, columns: Columns, request: Request) -> Cleaning:
    """Clean the columns with a role, as the request asks for it."""
    # Equal comparisons or candidates of structured tasks are not copies.
    copies = request.features is None or len(request.features) > 0
    last = request.answers == "last"
    options = CleaningOptions(
        request.clean, request.missing, last, request.batch, copies, request.predictions
    )
    return clean_table(table.frame, columns, options, table.words)


def resolve_columns(
    frame: pl.DataFrame, request: Request, all_features: bool = False
) -> tuple[Columns, list[str]]:
    """Assign column roles; return them with the messages about inferred and dropped columns.

    `all_features` finds the feature columns also where embeddings take their place.
    """
    return choose_columns(
        frame,
        **{role: getattr(request, role) for role in ROLES},
        features=request.features if all_features or request.embeddings is None else (),
        ignore=(*request.ignore, *([] if request.batch is None else [request.batch])),
        key=request.key,
        needs_features=request.predictions is None and request.embeddings is None,
    )


def _sample_info(prepared: Prepared, request: Request, prior: Floats | None) -> SampleInfo:
    same = ("contributor", "item", "verification", "reputation", "parents", "predictions")
    info = SampleInfo(
        **{name: getattr(prepared, name) for name in same},
        age=prepared.age if request.uses_times else None,
        truth=None if prepared.known is None else prepared.known.truth,
        wrong=None if prepared.known is None else prepared.known.wrong,
    )
    return info if prior is None else replace(info, predictions=prior[prepared.rows], rates=True)


def _side_warnings(table: Table, prepared: Prepared, request: Request) -> list[str]:
    """Return warnings on predictions and embeddings beside the features that the table has."""
    if request.predictions is None and request.embeddings is None:
        return []
    columns, _ = resolve_columns(table.frame, request, all_features=True)
    return check_side_inputs(table, columns, prepared, request)


def _notes(prepared: Prepared, request: Request, features: Sequence[str]) -> list[str]:
    notes = []
    if features:
        notes.append(f"feature columns: {format_names(features)}")
    if prepared.age is not None and not request.uses_freshness:
        notes.append("the time column does not affect weights; recipe.half_life weights rows by age")
    if request.embeddings is not None:
        notes.append(f"embeddings with {prepared.x.shape[1]} dimensions replace the feature columns")
    if request.predictions is not None and prepared.task == "classification":
        listed = ", ".join(prepared.classes[:12])
        notes.append(f"held-out predictions are given for {len(prepared.classes)} classes: {listed}")
    if prepared.x.shape[1] == 0:
        rest = "the labels" if prepared.predictions is None else "the labels and the given predictions"
        notes.append(f"there are no feature columns; the audit uses {rest}, and no model was evaluated")
    return notes


def testing_arrays(test: Any, prepared: Prepared, columns: Columns) -> tuple[Any, Any]:
    """Features and targets of a test table, encoded like the training table."""
    if not prepared.preparation.columns:
        missing = "test table has no embeddings" if prepared.x.shape[1] else "table has no features"
        raise UnsupportedError(
            f"a model cannot be evaluated on a test table: the {missing}; omit the test table"
        )
    frame = read_table(test, name="test data").frame
    if columns.label not in frame.columns:
        raise InputError(f"the test data has no label column {columns.label!r}")
    frame = frame.filter(pl.col(columns.label).is_not_null())
    if frame.is_empty():
        raise InputError("the test data has no row with a label")
    x = prepared.preparation.transform(frame)
    # A class that is not in the training data counts as an error.
    targets = frame[columns.label]
    if targets.dtype == pl.String:
        targets = targets.replace(match_set_spelling(targets.unique(), prepared.classes))
    return x, read_targets(targets, prepared.task, prepared.classes)


def _comparison(
    prepared: Prepared,
    assessed: Assessment,
    seed: int,
    test: tuple[Any, Any] | None,
    progress: Progress | None,
) -> Comparison:
    all_rows = np.ones(len(prepared.y), dtype=bool)
    uniform = Weighting(all_rows / len(all_rows), all_rows, Gate("uniform", ""))
    weightings = {"uniform": uniform, "chosen": assessed.weighting}
    return compare_weightings(
        prepared.x, prepared.y, prepared.task, len(prepared.classes), weightings,
        groups=prepared.item, test=test, seed=seed, progress=progress,
    )  # fmt: skip


def _build_result(
    table: Table, columns: Columns, prepared: Prepared, assessed: Assessment, comparison: Comparison | None,
    request: Request, policy: SamplePolicy, notes: list[str],
) -> AuditResult:  # fmt: skip
    keys = key_columns(table.frame, columns, request.key)
    samples = with_keys(sample_frame(prepared, assessed), table.frame, keys)
    name = request.recipe_label
    estimates, gate = assessed.belief.contributors, assessed.weighting.gate
    copies, label_warnings = check_data(prepared)
    people = add_copy_columns(_contributors(samples, assessed), copies)
    return AuditResult(
        samples=samples,
        contributors=add_median_seconds(people, samples, table.frame),
        confusion=confusion_counts(samples, prepared.task),
        gate=gate,
        evaluation=comparison,
        label_error_rate=assessed.belief.wrong,
        task=prepared.task,
        classes=prepared.classes,
        recipe_name=name,
        policy=policy,
        columns=columns,
        data={
            "name": table.name,
            "sha256": table.sha256,
            "rows": table.frame.height,
            **prepared.side_input_files,
        },
        signals_given=sorted(assessed.signals.given),
        scoring_epochs=assessed.scores.epochs,
        notes=notes + prepared.notes,
        warnings=[*prepared.warnings, *label_warnings],
        versions=versions(),
        gold=evaluate_on_gold(prepared.gold, assessed.belief.p_correct, assessed.weighting.kept),
        consensus=item_frame(prepared, assessed),
        expected_false_flags=0.0 if estimates is None else estimates.false_accusations,
        disputed_share=assessed.belief.doubtful,
        kinds=column_types(table.frame, columns),
    )


def sample_frame(prepared: Prepared, assessed: Assessment, external: bool = False) -> pl.DataFrame:
    """Estimates for each row used; `external`: predictions were made elsewhere."""
    signals, held_out, codes = assessed.signals, assessed.scores.held_out, prepared.y
    contributors, nothing = prepared.contributor, [None] * len(codes)
    frame: dict[str, Any] = {"row": prepared.rows}
    frame["contributor"] = ["(all)"] * len(codes) if contributors is None else contributors.tolist()
    if prepared.item is not None:
        frame["item"] = prepared.item.tolist()
    if prepared.task == "classification":
        names = np.array(prepared.classes, dtype=object)
        frame["label"] = names[codes].tolist()
        # Without features and predictions there is no model: the posterior is the frequency of each class.
        external = external or prepared.x.shape[1] > 0 or prepared.predictions is not None
        predicted, confidence = names[held_out.argmax(axis=1)], np.exp(held_out[np.arange(len(codes)), codes])
        frame["predicted_label"] = pl.Series(predicted if external else nothing, dtype=pl.String)
        has_confidence = external or assessed.belief.by_others
        frame["self_confidence"] = pl.Series(confidence if has_confidence else nothing, dtype=pl.Float64)
    else:
        frame["label"], frame["predicted_label"] = codes, held_out
        frame["self_confidence"] = pl.Series(nothing, dtype=pl.Float64)
    frame |= {"p_correct": assessed.belief.p_correct, **suggestions(prepared, assessed)}
    frame |= {"weight": assessed.weighting.w, "sample_weight": assessed.weighting.sample_weight()}
    frame |= {"kept": assessed.weighting.kept, "q": signals.q, "q_raw": assessed.scores.raw}
    frame |= {"v": signals.v, "r": signals.r, "t": signals.t}
    if prepared.age is not None:
        frame["age_years"] = prepared.age
    frame["uncorroborated"] = assessed.belief.alone
    if assessed.weighting.recipe.combine == "evidence":
        for source in ("model", "credentials", "contributor"):
            frame[f"logodds_{source}"] = getattr(assessed.belief, source)
    if prepared.gold is not None:
        has_gold, right, _ = prepared.gold
        frame["test_label_matches"] = pl.Series(right).set(pl.Series(~has_gold), None)
    if prepared.known is not None:
        truth, right, wrong = prepared.known.truth, prepared.known.right, prepared.known.wrong
        frame["label_is_correct"] = pl.Series(right).set(pl.Series(~(right | wrong)), None)
        given = [prepared.classes[code] if code >= 0 else None for code in truth] if prepared.classes else []
        frame[TRUE_LABEL] = pl.Series(given, dtype=pl.String) if given else pl.Series(truth).fill_nan(None)
    first = [name for name in FIRST_COLUMNS if name in frame]
    return pl.DataFrame(frame).select(*first, pl.exclude(first))


def with_keys(samples: pl.DataFrame, frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Add key columns; prefix `key_` on name conflicts."""
    if not names:
        return samples
    keys = frame.select(names)[samples["row"].to_numpy()]
    keys = keys.rename({name: f"key_{name}" for name in names if name in samples.columns})
    own = "key_item" in keys.columns and as_text(keys["key_item"]).equals(samples["item"])
    return samples.hstack(keys.drop("key_item") if own else keys)


def _contributors(samples: pl.DataFrame, assessed: Assessment) -> pl.DataFrame:
    if (frame := contributor_frame(assessed)) is None:
        return pl.DataFrame(schema={"contributor": pl.String, "rows": pl.Int64, "kept": pl.Int64})
    same = pl.col("label") == pl.col("predicted_label")
    agreement = samples.group_by("contributor").agg(model_agreement=same.mean())
    joined = frame.join(agreement, on="contributor", how="left")
    return joined.sort(pl.col("verdict").replace_strict(SEVERITY_ORDER), "accuracy", "contributor")


def confusion_counts(samples: pl.DataFrame, task: str) -> pl.DataFrame:
    """Count labels of each contributor by given label and held-out predicted label."""
    predicted = samples.clear() if task == "regression" else samples.drop_nulls("predicted_label")
    label_columns = ("label", "predicted_label")
    counts = predicted.group_by("contributor", *(pl.col(name).cast(pl.String) for name in label_columns))
    return counts.agg(rows=pl.len()).sort("contributor", *label_columns)
