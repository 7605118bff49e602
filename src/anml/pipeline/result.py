"""The result of an audit, and the record of it in run.json."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anml.assessment.assess import SamplePolicy
from anml.assessment.contributors import order_columns
from anml.core.calibration import CalibrationCurve, auroc, calibration_curve
from anml.core.checks import Bools, Floats
from anml.core.stats import Estimate
from anml.core.text import pluralise
from anml.core.types import Gate
from anml.io.columns import Columns
from anml.io.labels import EvalGold
from anml.pipeline.evaluate import Comparison
from anml.pipeline.read import SCHEMA_VERSION

if TYPE_CHECKING:
    from anml.pipeline.review_queue import ReviewQueue


@dataclass(frozen=True, eq=False)
class GoldEvaluation:
    """Evaluation of p_correct on rows with a test label ("marks" of correct labels, or "labels").

    `noun` is the noun for a row, and `p` the name of the probability that is evaluated.
    """

    kind: str
    right: int
    wrong: int
    kept_right: float | None
    kept_wrong: float | None
    reliability: CalibrationCurve
    ranking: float | None
    noun: str = "label"
    p: str = "p_correct"

    @property
    def rows(self) -> int:
        """Number of rows with a test label."""
        return self.right + self.wrong

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        return {
            "kind": self.kind, "n_correct": self.right, "n_wrong": self.wrong,
            "kept_correct": self.kept_right, "kept_wrong": self.kept_wrong, "auroc": self.ranking,
            "calibration": self.reliability.to_dict(),
        }  # fmt: skip

    def sentence(self) -> str:
        """One sentence for the terminal and the report."""
        if not self.wrong:
            mean = float(np.nansum(self.reliability.mean_p * self.reliability.count) / self.rows)
            checked = pluralise(self.right, f"test {self.noun} is", f"test {self.noun}s are")
            return f"{checked} correct: mean {self.p} {mean:.0%}, {self.kept_right:.0%} kept."
        gap = self.reliability.gap
        bias = f"{'too high' if gap > 0 else 'too low'} by {abs(gap):.0%} on average"
        kept = "" if self.kept_right is None else f"{self.kept_right:.0%} of the correct and "
        return (
            f"{self.right:,} of {self.rows:,} {self.noun}s agree with their test label. Calibration error of "
            f"{self.p}: {self.reliability.error:.0%} ({bias}). Kept: {kept}{self.kept_wrong:.0%} of the "
            f"wrong {self.noun}s."
        )


@dataclass(frozen=True)
class StructuredResult:
    """Result of a task that is neither classification nor regression.

    `sentences`: text of the report. `tables`: the tables to write. `frames`: the tables to show.
    `figures`: for grades, whether their order was used, and the held-out log-loss with and without it.
    """

    kind: str
    unit: str
    tables: dict[str, pl.DataFrame]
    sentences: list[str]
    frames: dict[str, pl.DataFrame]
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditResult:
    """Result of an audit, as frames and plain values; None for parts that the run does not have.

    `samples`: one row per label. `contributors`: one row per contributor, flagged contributors first.
    `consensus`: one row per item with several labels. docs/reference/files.md describes their columns.
    `confusion`: counts of labels by held-out prediction and contributor.
    `label_error_rate`: estimated share of wrong labels.
    `disputed_share`: share of the rows of contributors who contradict the rest and may be correct.
    `expected_false_flags`: expected number of flags on contributors who do not deserve them.
    `evaluation`: error of a model with equal weights and with the weights of the run.
    `pictures` (PNG) and `excerpts` of texts: previews of the rows to review first.
    `kinds`: column types of contributors, labels and items in the table, which are text here.
    """

    samples: pl.DataFrame
    contributors: pl.DataFrame
    confusion: pl.DataFrame
    gate: Gate
    evaluation: Comparison | None
    label_error_rate: Estimate
    task: str
    classes: list[str]
    recipe_name: str
    policy: SamplePolicy
    columns: Columns
    data: dict[str, Any]
    signals_given: list[str]
    scoring_epochs: int
    notes: list[str]
    warnings: list[str]
    versions: dict[str, str]
    gold: GoldEvaluation | None = None
    consensus: pl.DataFrame | None = None
    expected_false_flags: float = 0.0
    disputed_share: float | None = None
    structured: StructuredResult | None = None
    pictures: dict[int, bytes] | None = None
    excerpts: dict[int, str] | None = None
    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str | None:
        """The task, if it is neither classification nor regression; else None."""
        return None if self.structured is None else self.structured.kind

    @property
    def kept(self) -> int:
        """Number of rows that are used for training."""
        return int(self.samples["kept"].sum())

    @cached_property
    def queue(self) -> "ReviewQueue":
        """The review queue that `anml relabel` writes."""
        from anml.pipeline.review_queue import build_queue, queue_input_from_result

        return build_queue(queue_input_from_result(self))

    def with_verdict(self, *verdicts: str) -> list[str]:
        """Contributors with one of these verdicts, in the order of the table."""
        if self.contributors.is_empty():
            return []
        return self.contributors.filter(pl.col("verdict").is_in(verdicts))["contributor"].to_list()


def with_columns_of(result: AuditResult, people: pl.DataFrame) -> pl.DataFrame:
    """Replace or add columns of the contributors."""
    kept = result.contributors.drop(people.columns[1:], strict=False)
    return order_columns(kept.join(people, on="contributor", how="left", maintain_order="left"))


def versions() -> dict[str, str]:
    """Package versions."""
    main = {"python": platform.python_version(), "anml": version("attribution-native-ml")}
    return main | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "polars")}


def run_metadata(result: AuditResult, command: str) -> dict[str, Any]:
    """Contents of run.json: enough to repeat the run, and to identify its data."""
    structured, about = result.structured, dict(result.data)
    # The samples in memory of an audit in slices are a subset of its rows.
    rows, kept = result.samples.height, result.kept
    if "kept" in about:
        rows, kept = about["rows"], about["kept"]
    task: dict[str, Any] = {"name": result.kind or result.task, "notes": [], "figures": {}}
    if structured is not None:
        task |= {"notes": structured.sentences, "figures": dict(structured.figures)}
    plain: dict[str, Any] = {
        "label_error_rate": result.label_error_rate, "gate": result.gate, "evaluation": result.evaluation,
        "test_label_check": result.gold,
    }  # fmt: skip
    return {
        "schema_version": SCHEMA_VERSION,
        "version": result.versions["anml"],
        "command": command,
        "task": task,
        "classes": result.classes,
        "rows": rows,
        "kept": kept,
        "n_items": None if result.consensus is None else result.consensus.height,
        **{name: None if each is None else each.to_dict() for name, each in plain.items()},
        "disputed_share": result.disputed_share,
        "expected_false_flags": result.expected_false_flags,
        "recipe": {"name": result.recipe_name, **result.policy.recipe.to_dict()},
        "config": dict(result.config),
        "random_state": result.policy.seed,
        "signals_used": result.signals_given,
        "schema": result.columns.to_dict(),
        "schema_given": about.pop("named", {}),
        "data": about,
        "notes": result.notes,
        "warnings": result.warnings,
        "versions": result.versions,
    }


def evaluate_on_gold(gold: EvalGold | None, p_correct: Floats, kept: Bools) -> GoldEvaluation | None:
    """Compare p_correct with test labels; None without test labels."""
    if gold is None or not gold.known.any():
        return None
    right, p, was_kept = gold.right[gold.known], p_correct[gold.known], kept[gold.known]
    order = auroc(p, right)
    return GoldEvaluation(
        kind=gold.kind,
        right=int(right.sum()),
        wrong=int((~right).sum()),
        kept_right=float(was_kept[right].mean()) if right.any() else None,
        kept_wrong=float(was_kept[~right].mean()) if not right.all() else None,
        reliability=calibration_curve(p, right),
        ranking=None if np.isnan(order) else order,
    )
