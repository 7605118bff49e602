"""What an audit found, and the record of it that is kept."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anml.app.audit.compare import Comparison
from anml.assess.assess import SamplePolicy
from anml.core.calibration import Reliability, ranking, reliability
from anml.core.checks import Bools, Floats
from anml.core.domain import Gate
from anml.core.signals.temporal import Decay
from anml.core.stats import Estimate
from anml.core.words import counted
from anml.intake.columns import Columns
from anml.intake.labels import Gold

if TYPE_CHECKING:
    from anml.app.ledger.vouched import Vouched
    from anml.app.relabel.queue import Looking


@dataclass(frozen=True, eq=False)
class GoldCheck:
    """What rows with a known label ("marks" of right ones, or "labels") say about p_correct of a run.

    `of` is what a row is called, and `p` what is held against it.
    """

    kind: str
    right: int
    wrong: int
    kept_right: float | None
    kept_wrong: float | None
    reliability: Reliability
    ranking: float | None
    of: str = "label"
    p: str = "p_correct"

    @property
    def rows(self) -> int:
        """How many labels are known."""
        return self.right + self.wrong

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        words = ("reliability", "of", "p")
        plain = {name: value for name, value in vars(self).items() if name not in words}
        return {**plain, "calibration": self.reliability.to_dict()}

    def sentence(self) -> str:
        """One sentence for the terminal and the report."""
        if not self.wrong:
            believed = float(np.nansum(self.reliability.believed * self.reliability.count) / self.rows)
            labels = counted(self.right, f"{self.of} is", f"{self.of}s are")
            usual = f"{self.p} is {believed:.0%} on average"
            return f"{labels} known to be right: {usual}, and {self.kept_right:.0%} kept."
        gap = self.reliability.gap
        lean = f"{'too high' if gap > 0 else 'too low'} by {abs(gap):.0%} on average"
        kept = "" if self.kept_right is None else f"{self.kept_right:.0%} of the right ones and "
        return (
            f"Of {self.rows:,} {self.of}s that are known, {self.right:,} are right: {self.p} is off by "
            f"{self.reliability.error:.0%}, {lean}; {kept}{self.kept_wrong:.0%} of the wrong ones were kept."
        )


@dataclass(frozen=True)
class Shaped:
    """Judgements of another shape than classes: sentences `said`, `tables` to write and `frames` to show.

    `figures` of grades: whether their order was used, and held-out log-loss by order and by plain classes.
    """

    kind: str
    unit: str
    tables: dict[str, pl.DataFrame]
    said: list[str]
    frames: dict[str, pl.DataFrame]
    figures: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What run.json keeps."""
        return {"kind": self.kind, "said": self.said, "figures": self.figures}


@dataclass(frozen=True)
class Audited:
    """All that an audit found, as frames and plain values; None where there is nothing of the kind.

    `samples` has one row per row used: row, contributor, item, label, q, score, v, r, t, age, weight, kept,
    predicted, confidence, p_correct; with the evidence recipe also the log-odds of p_correct that came from
    the model, the credentials and the contributor; alone (rests on its contributor alone); of classes the
    likeliest label and its probability; whether the label is known to be right; last the columns that name
    the rows. `contributors` has the accused first and the reliable last, `confusion` labels against held-out
    predictions, `items` what several labels of an item say together. `wrong` is the share of labels that are
    wrong, as far as can be told without the truth; `doubtful` the share of the rows by those who contradict
    the others and may be right, where the result must not be relied on.
    `pictures` (PNG) and `excerpts` of texts are of the rows to look at first. `kinds` are those of
    contributors, labels and items in the table, which are text here.
    """

    samples: pl.DataFrame
    contributors: pl.DataFrame
    confusion: pl.DataFrame
    gate: Gate
    comparison: Comparison | None
    wrong: Estimate
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
    vouched: "Vouched | None" = None
    gold: GoldCheck | None = None
    items: pl.DataFrame | None = None
    false_accusations: float = 0.0
    doubtful: float | None = None
    shape: Shaped | None = None
    pictures: dict[int, bytes] | None = None
    excerpts: dict[int, str] | None = None
    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)

    @property
    def kind(self) -> str | None:
        """The shape of the judgements; None where they are classes or numbers."""
        return None if self.shape is None else self.shape.kind

    @property
    def kept(self) -> int:
        """How many rows are trained on."""
        return int(self.samples["kept"].sum())

    @cached_property
    def queue(self) -> "Looking":
        """What to look at first: the list that `anml relabel` writes."""
        from anml.app.relabel.queue import of_result, where_to_look

        return where_to_look(of_result(self))

    def judged(self, *verdicts: str) -> list[str]:
        """Contributors with one of these verdicts, in the order of the table."""
        if self.contributors.is_empty():
            return []
        return self.contributors.filter(pl.col("verdict").is_in(verdicts))["contributor"].to_list()


def with_columns_of(result: Audited, people: pl.DataFrame) -> pl.DataFrame:
    """The table of contributors with these columns, in place of its own of the same names."""
    kept = result.contributors.drop(people.columns[1:], strict=False)
    return kept.join(people, on="contributor", how="left", maintain_order="left")


def versions() -> dict[str, str]:
    """Versions of what decides the numbers."""
    own = {"python": platform.python_version(), "anml": version("attribution-native-ml")}
    return own | {name: version(name) for name in ("numpy", "scikit-learn", "torch", "polars")}


def run_record(result: Audited, command: str) -> dict[str, Any]:
    """What run.json holds: enough to repeat the run and to know what it was run on."""
    policy = result.policy
    as_is = ("versions", "data", "task", "classes", "doubtful", "false_accusations", "notes")
    # Of a run in slices the samples at hand are some of those that were judged.
    rows, kept = result.samples.height, result.kept
    if "kept" in result.data:
        rows, kept = result.data["rows"], result.data["kept"]
    found: dict[str, Any] = {name: getattr(result, name) for name in ("wrong", "gate", "columns", "gold")}
    found |= {"comparison": result.comparison, "ledger": result.vouched, "shape": result.shape}
    return {
        "anml": result.versions["anml"],
        "noise": result.wrong.mean,
        "command": command,
        "recipe": {"name": result.recipe_name, **policy.recipe.to_dict()},
        "profile": asdict(policy.profile),
        "seed": policy.seed,
        "decay_per_year": policy.decay.delta if isinstance(policy.decay, Decay) else None,
        "cold_start": asdict(policy.cold_start),
        **{name: getattr(result, name) for name in (*as_is, "warnings")},
        **{name: None if each is None else each.to_dict() for name, each in found.items()},
        "signals": result.signals_given,
        "rows": rows,
        "kept": kept,
        "items": None if result.items is None else result.items.height,
    }


def check_gold(gold: Gold | None, p_correct: Floats, kept: Bools) -> GoldCheck | None:
    """Compare p_correct with what is known; None where nothing is."""
    if gold is None or not gold.known.any():
        return None
    right, p, was_kept = gold.right[gold.known], p_correct[gold.known], kept[gold.known]
    order = ranking(p, right)
    return GoldCheck(
        kind=gold.kind,
        right=int(right.sum()),
        wrong=int((~right).sum()),
        kept_right=float(was_kept[right].mean()) if right.any() else None,
        kept_wrong=float(was_kept[~right].mean()) if not right.all() else None,
        reliability=reliability(p, right),
        ranking=None if np.isnan(order) else order,
    )
