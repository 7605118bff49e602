"""Types: signals, the recipe that combines them, the weighting, and the gate that was applied."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from anml.core.checks import Bools, Floats, as_integer, as_unit_interval, in_range, one_of
from anml.core.errors import InputError
from anml.core.profile import PROFILES, Profile, profile_of

SIGNALS = ("q", "v", "r", "t")
Task = Literal["classification", "regression"]
# Annotation types other than classes and numbers: they become labels of items, or have a model.
TASK_TYPES = PREFERENCE, ORDINAL, TAGS, SPANS, BOXES = "preferences", "ordinal", "tags", "spans", "boxes"
Level = Literal["sample", "contributor"]
Select = Literal["top", "draw", "weight"]


@dataclass(frozen=True)
class Signals:
    """Aligned vectors in [0, 1], one value per sample, checked once, here.

    Parameters
    ----------
    q
        Consistency with the other samples, as seen by a model (Krum-style score).
    v, r, t
        Verification of the sample, reputation of its contributor, freshness. A signal that is not
        given is 1 and has no effect; `given` has the names of the given signals.
    contributor
        One identifier per sample.
    label_error_rate
        Estimated share of wrong labels, if known.
    p_correct
        Probability that each label is correct (see `anml.annotators`).
    disputed
        Share of the rows of contributors who contradict the others and may be correct; None if there is no
        dispute.
    equal_votes
        True if contributors who contradict the others have most of the rows: p_correct is not used.
    no_overlap
        Rows of contributors without overlap with others; None if not computed.

    Examples
    --------
    >>> Signals.of([1.0, 0.5], v=[0.8, 0.5], r=0.5).s
    array([0.4 , 0.25])
    """

    q: Floats
    v: Floats
    r: Floats
    t: Floats
    contributor: np.ndarray[Any, Any] | None = None
    label_error_rate: float | None = None
    p_correct: Floats | None = None
    disputed: float | None = None
    equal_votes: bool = False
    no_overlap: Bools | None = None
    given: frozenset[str] = frozenset({"q"})

    @classmethod
    def of(
        cls,
        q: Any,
        v: Any = None,
        r: Any = None,
        t: Any = None,
        contributor: Any = None,
        label_error_rate: float | None = None,
        p_correct: Any = None,
    ) -> "Signals":
        """Check and align the signals; what is None counts as 1."""
        checked_q = as_unit_interval("q", q)
        n = len(checked_q)
        signals = {"v": v, "r": r, "t": t}
        checked: dict[str, Any] = {
            name: np.ones(n) if value is None else as_unit_interval(name, value, n)
            for name, value in signals.items()
        }
        if contributor is not None:
            contributor = np.asarray(contributor)
            if contributor.shape != (n,):
                raise InputError(f"contributor has shape {contributor.shape} for {n} samples")
        return cls(
            q=checked_q,
            **checked,
            contributor=contributor,
            label_error_rate=None
            if label_error_rate is None
            else in_range("label_error_rate", label_error_rate, 0, 1),
            p_correct=None if p_correct is None else as_unit_interval("p_correct", p_correct, n),
            given=frozenset({"q"} | {name for name, value in signals.items() if value is not None}),
        )

    @property
    def s(self) -> Floats:
        """The external signal of the paper, v times r."""
        return self.v * self.r

    def only(self, use: tuple[str, ...]) -> "Signals":
        """The same signals with those not in `use` set to 1, so that an ablation is data."""
        ones = np.ones(len(self.q))
        q, v, r, t = (getattr(self, name) if name in use else ones for name in SIGNALS)
        return replace(self, q=q, v=v, r=r, t=t, given=self.given & frozenset(use))

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class Recipe:
    """Everything between signals and weights.

    Parameters
    ----------
    combine
        How signals become one weight: a name in `anml.weighting.weigh.COMBINERS`.
    use
        The signals used; the others count as 1. `("q",)` is Krum.
    level
        `"sample"`, or `"contributor"`: each sample gets the shrunk mean q of its contributor.
    alpha, tau_s
        Softmax blend: weight of q against s, and temperature.
    tau_h, tau_c
        Two-stage gate: all s above `tau_h` fires Stage 1; correlation above `tau_c` trusts s.
    tau_n
        Guarded gate: the largest estimated share of wrong labels at which data counts as clean.
    keep
        Share of samples kept by weight. `None` sizes itself: one minus the estimated share of wrong
        labels where that is known, 0.7 (the paper's) elsewhere.
    select
        `"top"` keeps the best share, `"draw"` samples rows by weight, `"weight"` keeps every row and
        hands the weights to the learner.
    half_life, reference_time
        Freshness T: the age at which it halves (`"90d"`, a number of years, a domain of the paper such as
        `"science"`, or any `anml.signals` decay; None does not decay), and the moment from which ages count
        (None is the newest row).
    r_min, newcomer_rows
        Floor on r for the first `newcomer_rows` rows of a contributor; 0 rows switches it off.
    profile
        Training of the small networks: `"default"`, `"paper"`, `"quick"`, a `Profile`, or a dict of what
        differs from the default.
    """

    combine: str = "evidence"
    use: tuple[str, ...] = SIGNALS
    level: Level = "sample"
    alpha: float = 0.5
    tau_s: float = 1.0
    tau_h: float = 0.35
    tau_c: float = 0.3
    tau_n: float = 0.05
    keep: float | None = None
    select: Select = "top"
    half_life: Any = None
    reference_time: Any = None
    r_min: float = 0.4
    newcomer_rows: int = 10
    profile: Profile = PROFILES["default"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "profile", profile_of(self.profile))
        in_range("r_min", self.r_min, 0, 1)
        as_integer("newcomer_rows", self.newcomer_rows, 0)
        object.__setattr__(self, "use", tuple(self.use))
        for name in self.use:
            one_of("signal", name, SIGNALS)
        one_of("level", self.level, ("sample", "contributor"))
        one_of("select", self.select, ("top", "draw", "weight"))
        in_range("tau_s", self.tau_s, 0, np.inf, open_low=True, open_high=True)
        for name, low in (("alpha", 0), ("tau_h", 0), ("tau_c", -1), ("tau_n", 0)):
            in_range(name, getattr(self, name), low, 1)
        if self.keep is not None:
            in_range("keep", self.keep, 0, 1, open_low=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and the ledger."""
        profile = {**asdict(self.profile), "hidden": list(self.profile.hidden)}
        settings = {**asdict(self), "use": list(self.use), "profile": profile}
        return settings | {
            "reference_time": None if self.reference_time is None else str(self.reference_time)
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        """The reverse of `to_dict`; unknown keys are an error."""
        for name in values:
            one_of("recipe setting", name, [f.name for f in fields(cls)])
        return cls(**values)


@dataclass(frozen=True)
class Gate:
    """The weighting rule that was applied, and the figures that selected it.

    `branch` is `"p_correct"` or `"disputed"` for the recipe evidence, `"uniform"`, `"blend"` or `"q_only"`
    for the two-stage gates, and `"multiplicative"` for a product. `rho_c` is None where it is undefined
    (q or s constant).
    """

    branch: str
    reason: str
    rho_c: float | None = None
    s_min: float | None = None
    label_error_rate: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "branch": self.branch, "reason": self.reason, "rho_c": self.rho_c, "s_min": self.s_min,
            "label_error_rate": self.label_error_rate,
        }  # fmt: skip


@dataclass(frozen=True)
class Weighting:
    """Result of the weighting: a weight for each sample, the kept samples, and the rule that was applied.

    `w` sums to one before freshness `t` is applied. It is used for training and ranking, not for payments.
    `rows` are the identifier column and its values, if weights were matched by it.
    """

    w: Floats
    kept: Bools
    gate: Gate
    recipe: Recipe = field(default_factory=Recipe)
    rows: tuple[str, list[Any]] | None = None

    def sample_weight(self) -> Floats:
        """Return the sample weights: 0 for samples that are not kept, with mean 1 over the kept samples.

        All kept samples have equal weight, as in the paper, unless the recipe selects by weight or combines
        evidence.
        """
        weighs = self.recipe.select == "weight" or self.recipe.combine == "evidence"
        raw = np.where(self.kept, self.w if weighs else 1.0, 0.0)
        total = raw.sum()
        if total <= 0:
            return self.kept.astype(np.float64)
        if total < 1e-290:
            # So old that one over their sum is more than a float holds.
            raw = raw / raw.max()
            total = raw.sum()
        return np.asarray(raw * (self.kept.sum() / total))
