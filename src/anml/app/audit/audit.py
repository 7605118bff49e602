"""The audit: from a table to weights, contributors, and what would change without them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.compare import Comparison, compare
from anml.app.audit.data_warnings import look_at_data, refuse_unnamed_items, with_copies, with_time_spent
from anml.app.audit.items import item_frame, suggestions
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, check_gold, versions
from anml.app.audit.values import kinds_of
from anml.app.relabel.queue import ANSWER
from anml.assess.assess import Assessment, Known, SamplePolicy, assess
from anml.assess.contributors import contributor_frame
from anml.core.checks import Floats
from anml.core.domain import Gate, Weighting
from anml.core.errors import InputError, UnsupportedError
from anml.core.people.belief import Belief
from anml.core.people.words import CONCERN
from anml.core.progress import Progress
from anml.intake.beside import Beside
from anml.intake.columns import Columns, choose_columns, key_columns
from anml.intake.labels import one_order, read_targets, spelled_as
from anml.intake.plain import as_text
from anml.intake.prepare import Prepared, prepare
from anml.intake.roles import ROLES
from anml.intake.tables import Table, read_table
from anml.intake.times import as_moment
from anml.intake.unread import refuse_parts


def audit_table(
    data: Any, request: Request, *, test: Any = None, progress: Progress | None = None,
    check_prepared: Callable[[Prepared], None] | None = None,
    believe: Callable[[Prepared], Belief] | None = None, prior: Floats | None = None,
) -> tuple[Audited, Prepared, Assessment]:  # fmt: skip
    """Audit a table given by path or as a frame; `check_prepared` may refuse it before the work."""
    policy = request.policy()
    table = data if isinstance(data, Table) else read_table(data)
    columns, notes = columns_asked(table.frame, request)
    refuse_parts(table.frame, columns)
    ordered, told = one_order(table.frame, columns.label, columns.known)
    table, notes = replace(table, frame=ordered), [*notes, *told]
    beside, now = Beside(request.predictions, request.embeddings, request.key), as_moment(request.now)
    prepared = prepare(table, columns, task=request.task, now=now, seed=request.seed, beside=beside)
    refuse_unnamed_items(prepared)
    if check_prepared is not None:
        check_prepared(prepared)
    notes += _about(prepared, request)
    tested = None if test is None else testing_arrays(test, prepared, columns)
    known = _known(prepared, request, prior)
    found = assess(
        prepared.x, prepared.y, prepared.task, max(len(prepared.classes), 1), known, policy,
        progress=progress, believed=None if believe is None else believe(prepared),
    )  # fmt: skip
    comparing = request.compare and prepared.x.shape[1] > 0
    comparison = _compared(prepared, found, request.seed, tested, progress) if comparing else None
    result = _result(table, columns, prepared, found, comparison, request, policy, notes)
    return result, prepared, found


def columns_asked(frame: pl.DataFrame, request: Request) -> tuple[Columns, list[str]]:
    """Which column is what, and what was guessed or left out."""
    return choose_columns(
        frame,
        **{role: getattr(request, role) for role in ROLES},
        features=request.features if request.embeddings is None else (),
        ignore=request.ignore,
        key=request.key,
        needs_features=request.predictions is None and request.embeddings is None,
    )


def _known(prepared: Prepared, request: Request, prior: Floats | None) -> Known:
    same = ("contributor", "item", "verification", "reputation", "parents", "predictions")
    known = Known(
        **{name: getattr(prepared, name) for name in same},
        age=prepared.age if request.decay.delta > 0 else None,
        truth=None if prepared.known is None else prepared.known.truth,
        wrong=None if prepared.known is None else prepared.known.wrong,
    )
    return known if prior is None else replace(known, predictions=prior[prepared.rows], rates=True)


def _at_odds(prepared: Prepared) -> list[str]:
    """Predictions that were given and agree with the labels no more than by chance."""
    if prepared.predictions is None or prepared.task != "classification":
        return []
    said, n = prepared.predictions.argmax(axis=1), len(prepared.y)
    agree, k = float((said == prepared.y).mean()), len(prepared.classes)
    chance = float(np.bincount(said, minlength=k) @ np.bincount(prepared.y, minlength=k)) / n**2
    if agree > chance + 2 * (chance * (1 - chance) / n) ** 0.5:
        return []
    odd = f"the predictions agree with {agree:.0%} of the labels, by chance it would be {chance:.0%}"
    return [f"{odd}: are their rows in another order, or their columns other classes?"]


def _about(prepared: Prepared, request: Request) -> list[str]:
    said = []
    if prepared.age is not None and request.decay.delta == 0:
        said.append("times are known but freshness does not count; name a half-life to weigh by it")
    if request.embeddings is not None:
        said.append(f"embeddings of {prepared.x.shape[1]} dimensions are used in place of feature columns")
    if request.predictions is not None and prepared.task == "classification":
        listed = ", ".join(prepared.classes[:12])
        said.append(f"held-out predictions were given for {len(prepared.classes)} classes: {listed}")
    if prepared.x.shape[1] == 0:
        rest = "labels alone" if prepared.predictions is None else "labels and the predictions given"
        said.append(f"there are no feature columns: {rest} are judged, and no model was compared")
    return said


def testing_arrays(test: Any, prepared: Prepared, columns: Columns) -> tuple[Any, Any]:
    """Features and targets of a test table, prepared as the training table was."""
    if not prepared.preparation.columns:
        what = "it has no embeddings" if prepared.x.shape[1] else "there are no features to train one on"
        raise UnsupportedError(f"a test table measures a model, but {what}; leave the test table out")
    frame = read_table(test, name="test data").frame
    if columns.label not in frame.columns:
        raise InputError(f"the test data has no label column {columns.label!r}")
    frame = frame.filter(pl.col(columns.label).is_not_null())
    if frame.is_empty():
        raise InputError("the test data has no row with a label")
    x = prepared.preparation.transform(frame)
    # A class that was never seen in training counts as an error, not as a reason to stop.
    targets = frame[columns.label]
    if targets.dtype == pl.String:
        targets = targets.replace(spelled_as(targets.unique(), prepared.classes))
    return x, read_targets(targets, prepared.task, prepared.classes)


def _compared(
    prepared: Prepared, found: Assessment, seed: int, test: tuple[Any, Any] | None, progress: Progress | None
) -> Comparison:
    everything = np.ones(len(prepared.y), dtype=bool)
    uniform = Weighting(everything / len(everything), everything, Gate("uniform", ""))
    ways = {"uniform": uniform, "chosen": found.weighting}
    return compare(
        prepared.x, prepared.y, prepared.task, len(prepared.classes), ways,
        groups=prepared.item, test=test, seed=seed, progress=progress,
    )  # fmt: skip


def _result(
    table: Table, columns: Columns, prepared: Prepared, found: Assessment, comparison: Comparison | None,
    request: Request, policy: SamplePolicy, notes: list[str],
) -> Audited:  # fmt: skip
    keys = key_columns(table.frame, columns, request.key)
    samples = with_keys(sample_frame(prepared, found), table.frame, keys)
    name = request.recipe if isinstance(request.recipe, str) else policy.recipe.combine
    judged, gate = found.belief.contributors, found.weighting.gate
    copies, looked = look_at_data(prepared)
    people = with_copies(_contributors(samples, found), copies)
    return Audited(
        samples=samples,
        contributors=with_time_spent(people, samples, table.frame),
        confusion=confusion_of(samples, prepared.task),
        gate=gate,
        comparison=comparison,
        wrong=found.belief.wrong,
        task=prepared.task,
        classes=prepared.classes,
        recipe_name=name,
        policy=policy,
        columns=columns,
        data={"name": table.name, "sha256": table.sha256, "rows": table.frame.height, **prepared.beside},
        signals_given=sorted(found.signals.given),
        scoring_epochs=found.scores.epochs,
        notes=notes + prepared.notes,
        warnings=[*prepared.warnings, *_at_odds(prepared), *looked],
        versions=versions(),
        gold=check_gold(prepared.gold, found.belief.p_correct, found.weighting.kept),
        items=item_frame(prepared, found),
        false_accusations=0.0 if judged is None else judged.false_accusations,
        doubtful=found.belief.doubtful,
        kinds=kinds_of(table.frame, columns),
    )


def sample_frame(prepared: Prepared, found: Assessment, told: bool = False) -> pl.DataFrame:
    """One row per row used, with what was found out about it; `told`: by predictions made elsewhere."""
    signals, held_out, codes = found.signals, found.scores.held_out, prepared.y
    who, nothing = prepared.contributor, [None] * len(codes)
    frame: dict[str, Any] = {"row": prepared.rows}
    frame["contributor"] = ["(all)"] * len(codes) if who is None else who.tolist()
    if prepared.item is not None:
        frame["item"] = prepared.item.tolist()
    if prepared.task == "classification":
        names = np.array(prepared.classes, dtype=object)
        frame["label"] = names[codes].tolist()
        # Of labels alone no model says anything: what stands there is how often each class is given.
        told = told or prepared.x.shape[1] > 0 or prepared.predictions is not None
        predicted, confidence = names[held_out.argmax(axis=1)], np.exp(held_out[np.arange(len(codes)), codes])
        frame["predicted"] = pl.Series(predicted if told else nothing, dtype=pl.String)
        known = told or found.belief.by_others
        frame["confidence"] = pl.Series(confidence if known else nothing, dtype=pl.Float64)
    else:
        frame["label"], frame["predicted"] = codes, held_out
        frame["confidence"] = pl.Series(nothing, dtype=pl.Float64)
    frame |= {"q": signals.q, "score": found.scores.raw, "v": signals.v, "r": signals.r, "t": signals.t}
    if prepared.age is not None:
        frame["age"] = prepared.age
    frame |= {"weight": found.weighting.w, "kept": found.weighting.kept, "p_correct": found.belief.p_correct}
    frame |= {"alone": found.belief.alone, **suggestions(prepared, found)}
    if found.weighting.recipe.combine == "evidence":
        for part in ("model", "credentials", "contributor"):
            frame[f"from_{part}"] = getattr(found.belief, part)
    if prepared.gold is not None:
        known, right, _ = prepared.gold
        frame["gold_right"] = pl.Series(right).set(pl.Series(~known), None)
    if prepared.known is not None:
        truth, right, wrong = prepared.known.truth, prepared.known.right, prepared.known.wrong
        frame["known_right"] = pl.Series(right).set(pl.Series(~(right | wrong)), None)
        named = [prepared.classes[code] if code >= 0 else None for code in truth] if prepared.classes else []
        frame[ANSWER] = pl.Series(named, dtype=pl.String) if named else pl.Series(truth).fill_nan(None)
    return pl.DataFrame(frame)


def with_keys(samples: pl.DataFrame, frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Samples with the columns that name their rows; one whose name is taken is called key_ and its name."""
    if not names:
        return samples
    keys = frame.select(names)[samples["row"].to_numpy()]
    keys = keys.rename({name: f"key_{name}" for name in names if name in samples.columns})
    own = "key_item" in keys.columns and as_text(keys["key_item"]).equals(samples["item"])
    return samples.hstack(keys.drop("key_item") if own else keys)


def _contributors(samples: pl.DataFrame, found: Assessment) -> pl.DataFrame:
    if (frame := contributor_frame(found)) is None:
        return pl.DataFrame(schema={"contributor": pl.String, "rows": pl.Int64, "kept": pl.Int64})
    agreement = samples.group_by("contributor").agg(agreement=(pl.col("label") == pl.col("predicted")).mean())
    joined = frame.join(agreement, on="contributor", how="left")
    return joined.sort(pl.col("verdict").replace_strict(CONCERN), "quality", "contributor")


def confusion_of(samples: pl.DataFrame, task: str) -> pl.DataFrame:
    """How often each contributor gave which label where a model that did not see it predicts which."""
    told = samples.clear() if task == "regression" else samples.drop_nulls("predicted")
    given, predicted = (pl.col(name).cast(pl.String) for name in ("label", "predicted"))
    counts = told.group_by("contributor", given=given, predicted=predicted).agg(rows=pl.len())
    return counts.sort("contributor", "given", "predicted")
