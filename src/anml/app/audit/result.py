"""What an audit found, and the record of it that is kept."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from anml.app.audit.compare import Comparison
from anml.app.audit.gold import GoldCheck
from anml.assess.assess import SamplePolicy
from anml.core.domain import Gate
from anml.core.signals.temporal import Decay
from anml.core.stats import Estimate
from anml.intake.columns import Columns

if TYPE_CHECKING:
    from anml.app.ledger.vouched import Vouched


@dataclass(frozen=True)
class Shaped:
    """Judgements of another shape than classes: sentences `said`, `tables` to write and `frames` to show."""

    kind: str
    unit: str
    tables: dict[str, pl.DataFrame]
    said: list[str]
    frames: dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Audited:
    """All that an audit found, as frames and plain values; None where there is nothing of the kind.

    `samples` has one row per row used: row, contributor, item, label, q, score, v, r, t, age, weight, kept,
    predicted, confidence, p_correct; with the evidence recipe also the log-odds of p_correct that came from
    the model, the credentials and the contributor; alone (rests on its contributor alone); of classes the
    likeliest label and its probability; whether the label is known to be right; last the columns that name
    the rows. `contributors` has the accused first and the reliable last, `confusion` labels against held-out
    predictions, `items` what several labels of an item say together. `wrong` is the share of labels that are
    wrong, as far as can be told without the truth; `doubtful` why the result must not be relied on.
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
    doubtful: str | None = None
    shape: Shaped | None = None
    pictures: dict[int, bytes] | None = None
    excerpts: dict[int, str] | None = None
    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """Share of labels that look wrong."""
        return self.wrong.mean

    @property
    def kept(self) -> int:
        """How many rows are trained on."""
        return int(self.samples["kept"].sum())


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
    as_is = ("versions", "data", "task", "classes", "kept", "noise", "doubtful", "false_accusations", "notes")
    found: dict[str, Any] = {name: getattr(result, name) for name in ("wrong", "gate", "columns", "gold")}
    found |= {"comparison": result.comparison, "ledger": result.vouched}
    return {
        "anml": result.versions["anml"],
        "command": command,
        "recipe": {"name": result.recipe_name, **policy.recipe.to_dict()},
        "profile": asdict(policy.profile),
        "seed": policy.seed,
        "decay_per_year": policy.decay.delta if isinstance(policy.decay, Decay) else None,
        "cold_start": asdict(policy.cold_start),
        **{name: getattr(result, name) for name in (*as_is, "warnings")},
        **{name: None if each is None else each.to_dict() for name, each in found.items()},
        "signals": result.signals_given,
        "rows": result.samples.height,
        "items": None if result.items is None else result.items.height,
        "shape": None if result.shape is None else {"kind": result.shape.kind, "said": result.shape.said},
    }
