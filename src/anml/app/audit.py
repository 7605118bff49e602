"""The audit: from a table to weights, contributors, and what would change without them."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anml.adapters.sklearn.estimators import contributor_frame
from anml.app.compare import Comparison, compare
from anml.app.gold import GoldCheck, check_gold
from anml.core.domain import Gate, Recipe, Weighting
from anml.core.errors import InputError
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import recipe_of, weigh_signals
from anml.gradients.assess import Assessment, Known, Policy, assess
from anml.gradients.crossfit import Progress
from anml.gradients.scoring import Profile, profile_of
from anml.intake.columns import Columns, choose_columns
from anml.intake.labels import read_targets
from anml.intake.prepare import Prepared, prepare
from anml.intake.tables import Table, read_table

if TYPE_CHECKING:
    from anml.app.vouched import Vouched

# That of the paper's fast-moving fields.
DEFAULT_HALF_LIFE = "7y"


@dataclass(frozen=True)
class Request:
    """What the user asked for; everything but the data has a default."""

    label: str | None = None
    contributor: str | None = None
    item: str | None = None
    verification: str | None = None
    reputation: str | None = None
    time: str | None = None
    derived_from: str | None = None
    gold: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    task: str = "auto"
    recipe: str | Recipe | dict[str, Any] = "evidence"
    keep: float | None = None
    profile: str | Profile | dict[str, Any] = "default"
    half_life: str | float | None = None
    domain: str | None = None
    r_min: float = 0.4
    newcomer: int = 10
    now: datetime | None = None
    seed: int = 0
    compare: bool = True

    @property
    def decay(self) -> Decay:
        """Freshness by domain where one is named, else by half-life; none unless it was asked for.

        Naming the column of times asks for it. A column that was merely guessed does not: on data
        that does not go stale, freshness throws away good rows.
        """
        if self.domain is not None and self.half_life is not None:
            raise InputError("freshness is given by a half-life or by a domain, not by both")
        if self.domain is not None:
            return Decay.domain(self.domain)
        if self.half_life is not None:
            return Decay.half_life(self.half_life)
        return Decay.half_life(DEFAULT_HALF_LIFE) if self.time is not None else Decay(0.0)

    def policy(self) -> Policy:
        """How samples are judged, checked."""
        recipe = recipe_of(self.recipe)
        return Policy(
            recipe=recipe if self.keep is None else replace(recipe, keep=self.keep),
            profile=profile_of(self.profile),
            decay=self.decay,
            cold_start=ColdStart(self.r_min, self.newcomer),
            seed=self.seed,
        )


@dataclass(frozen=True)
class Audited:
    """All that an audit found, as frames and plain values.

    Parameters
    ----------
    samples
        One row per row used: row, contributor, item, label, q, score, v, r, t, age, weight, kept,
        predicted, confidence, p_clean; with the evidence recipe also the log-odds of p_clean that came
        from the model, the credentials and the contributor; with gold, whether the label is known right.
    contributors
        One row per contributor, worst quality first.
    confusion
        contributor, given, predicted, rows: labels against held-out predictions.
    vouched
        What a ledger knows of the contributors and of each v, where one was asked.
    gold
        What rows with a known label say about the beliefs; None where there are none.
    """

    samples: pl.DataFrame
    contributors: pl.DataFrame
    confusion: pl.DataFrame
    gate: Gate
    comparison: Comparison | None
    noise: float
    task: str
    classes: list[str]
    recipe_name: str
    policy: Policy
    columns: Columns
    data: dict[str, Any]
    signals_given: list[str]
    scoring_epochs: int
    notes: list[str]
    warnings: list[str]
    versions: dict[str, str]
    vouched: "Vouched | None" = None
    gold: GoldCheck | None = None

    @property
    def kept(self) -> int:
        """How many rows are trained on."""
        return int(self.samples["kept"].sum())


def audit_table(
    data: Any, request: Request, *, test: Any = None, progress: Progress | None = None,
    check_task: Callable[[str], None] | None = None,
) -> tuple[Audited, Prepared, Assessment]:  # fmt: skip
    """Audit a table given by path or as a frame; `check_task` may refuse the task before the work."""
    policy = request.policy()
    table = data if isinstance(data, Table) else read_table(data)
    columns, notes = choose_columns(
        table.frame, label=request.label, contributor=request.contributor, item=request.item,
        verification=request.verification, reputation=request.reputation, time=request.time,
        derived_from=request.derived_from, gold=request.gold, features=request.features,
        ignore=request.ignore,
    )  # fmt: skip
    prepared = prepare(table, columns, task=request.task, now=request.now, seed=request.seed)
    if check_task is not None:
        check_task(prepared.task)
    if prepared.age is not None and request.decay.delta == 0:
        notes.append("times are known but freshness does not count; name a half-life to weigh by it")
    tested = None if test is None else testing_arrays(test, prepared, columns)
    known = Known(
        contributor=prepared.contributor,
        item=prepared.item,
        verification=prepared.verification,
        reputation=prepared.reputation,
        age=prepared.age if request.decay.delta > 0 else None,
        parents=prepared.parents,
    )
    classes = max(len(prepared.classes), 1)
    found = assess(prepared.x, prepared.y, prepared.task, classes, known, policy, progress=progress)
    comparison = _compared(prepared, found, request.seed, tested, progress) if request.compare else None
    result = _result(table, columns, prepared, found, comparison, request, policy, notes)
    return result, prepared, found


def testing_arrays(test: Any, prepared: Prepared, columns: Columns) -> tuple[Any, Any]:
    """Features and targets of a test table, prepared as the training table was."""
    frame = read_table(test, name="test data").frame
    if columns.label not in frame.columns:
        raise InputError(f"the test data has no label column {columns.label!r}")
    frame = frame.filter(pl.col(columns.label).is_not_null())
    if frame.is_empty():
        raise InputError("the test data has no row with a label")
    x = prepared.preparation.transform(frame)
    # A class that was never seen in training counts as an error, not as a reason to stop.
    return x, read_targets(frame[columns.label], prepared.task, prepared.classes)


def _compared(
    prepared: Prepared, found: Assessment, seed: int, test: tuple[Any, Any] | None, progress: Progress | None
) -> Comparison:
    chosen = found.weighting.recipe
    only_q = replace(chosen, combine="multiplicative", use=("q",), level="sample")
    everything = np.ones(len(prepared.y), dtype=bool)
    ways = {
        "uniform": Weighting(everything / len(everything), everything, Gate("uniform", "")),
        "q only": weigh_signals(found.signals, only_q),
        "chosen": found.weighting,
    }
    return compare(
        prepared.x, prepared.y, prepared.task, len(prepared.classes), ways,
        groups=prepared.item, test=test, seed=seed, progress=progress,
    )  # fmt: skip


def _result(
    table: Table, columns: Columns, prepared: Prepared, found: Assessment, comparison: Comparison | None,
    request: Request, policy: Policy, notes: list[str],
) -> Audited:  # fmt: skip
    samples = _samples(prepared, found)
    name = request.recipe if isinstance(request.recipe, str) else policy.recipe.combine
    return Audited(
        samples=samples,
        contributors=_contributors(samples, found),
        confusion=_confusion(samples, prepared.task),
        gate=found.weighting.gate,
        comparison=comparison,
        noise=float(1 - found.evidence.clean.mean()),
        task=prepared.task,
        classes=prepared.classes,
        recipe_name=name,
        policy=policy,
        columns=columns,
        data={"name": table.name, "sha256": table.sha256, "rows": table.frame.height},
        signals_given=sorted(found.signals.given),
        scoring_epochs=found.scores.epochs,
        notes=notes + prepared.notes,
        warnings=prepared.warnings,
        versions=versions(),
        gold=_gold(prepared, found),
    )


def _gold(prepared: Prepared, found: Assessment) -> GoldCheck | None:
    if prepared.gold is None:
        return None
    return check_gold(prepared.gold, found.evidence.clean, found.weighting.kept)


def _samples(prepared: Prepared, found: Assessment) -> pl.DataFrame:
    signals, held_out, codes = found.signals, found.scores.held_out, prepared.y
    frame: dict[str, Any] = {"row": prepared.rows}
    frame["contributor"] = (
        ["(all)"] * len(codes) if prepared.contributor is None else prepared.contributor.tolist()
    )
    if prepared.item is not None:
        frame["item"] = prepared.item.tolist()
    if prepared.task == "classification":
        names = np.array(prepared.classes, dtype=object)
        frame["label"] = names[codes].tolist()
        frame["predicted"] = names[held_out.argmax(axis=1)].tolist()
        frame["confidence"] = np.exp(held_out[np.arange(len(codes)), codes])
    else:
        frame["label"], frame["predicted"] = codes, held_out
        frame["confidence"] = pl.Series([None] * len(codes), dtype=pl.Float64)
    frame |= {"q": signals.q, "score": found.scores.raw, "v": signals.v, "r": signals.r, "t": signals.t}
    if prepared.age is not None:
        frame["age"] = prepared.age
    frame |= {"weight": found.weighting.w, "kept": found.weighting.kept, "p_clean": found.evidence.clean}
    if found.weighting.recipe.combine == "evidence":
        for part in ("model", "credentials", "contributor"):
            frame[f"from_{part}"] = getattr(found.evidence, part)
    if prepared.gold is not None:
        known, right, _ = prepared.gold
        frame["gold_right"] = pl.Series([bool(r) if k else None for k, r in zip(known, right, strict=True)])
    return pl.DataFrame(frame)


def _contributors(samples: pl.DataFrame, found: Assessment) -> pl.DataFrame:
    frame = contributor_frame(found)
    if frame is None:
        return pl.DataFrame(schema={"contributor": pl.String, "rows": pl.Int64, "kept": pl.Int64})
    agreement = samples.group_by("contributor").agg(agreement=(pl.col("label") == pl.col("predicted")).mean())
    return frame.join(agreement, on="contributor", how="left").sort("quality", "contributor")


def _confusion(samples: pl.DataFrame, task: str) -> pl.DataFrame:
    if task == "regression":
        return pl.DataFrame(
            schema={"contributor": pl.String, "given": pl.String, "predicted": pl.String, "rows": pl.UInt32}
        )
    return (
        samples.group_by("contributor", pl.col("label").alias("given"), "predicted")
        .agg(rows=pl.len())
        .sort("contributor", "given", "predicted")
    )


def versions() -> dict[str, str]:
    """Versions of what decides the numbers."""
    names = {
        "anml": "attribution-native-ml",
        "numpy": "numpy",
        "scikit-learn": "scikit-learn",
        "torch": "torch",
        "polars": "polars",
    }
    return {
        "python": platform.python_version(),
        **{name: version(package) for name, package in names.items()},
    }


def run_record(result: Audited, command: str) -> dict[str, Any]:
    """What run.json holds: enough to repeat the run and to know what it was run on."""
    return {
        "anml": result.versions["anml"],
        "command": command,
        "recipe": {"name": result.recipe_name, **result.policy.recipe.to_dict()},
        "profile": asdict(result.policy.profile),
        "seed": result.policy.seed,
        "decay_per_year": result.policy.decay.delta if isinstance(result.policy.decay, Decay) else None,
        "cold_start": asdict(result.policy.cold_start),
        "versions": result.versions,
        "data": result.data,
        "columns": result.columns.to_dict(),
        "task": result.task,
        "classes": result.classes,
        "signals": result.signals_given,
        "rows": result.samples.height,
        "kept": result.kept,
        "noise": result.noise,
        "gate": result.gate.to_dict(),
        "gold": None if result.gold is None else result.gold.to_dict(),
        "comparison": None if result.comparison is None else result.comparison.to_dict(),
        "notes": result.notes,
        "warnings": result.warnings,
        "ledger": None if result.vouched is None else result.vouched.to_dict(),
    }
