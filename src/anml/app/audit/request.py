"""What the user asks of an audit, and how samples are to be judged for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from anml.assess.assess import SamplePolicy
from anml.core.domain import Recipe
from anml.core.errors import InputError
from anml.core.profile import Profile, profile_of
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import recipe_of
from anml.intake.times import as_moment

# That of the paper's fast-moving fields.
DEFAULT_HALF_LIFE = "7y"


@dataclass(frozen=True)
class Request:
    """What the user asked for; everything but the data has a default.

    `known` and `reviewed` are columns of what counts as observed, `gold` only checks; `predictions` and
    `embeddings` are arrays, frames or paths, aligned by position or by column `key`.
    """

    label: str | None = None
    contributor: str | None = None
    item: str | None = None
    verification: str | None = None
    reputation: str | None = None
    time: str | None = None
    derived_from: str | None = None
    gold: str | None = None
    known: str | None = None
    reviewed: str | None = None
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
    now: datetime | date | str | None = None
    seed: int = 0
    compare: bool = True
    predictions: Any = field(default=None, compare=False, repr=False)
    embeddings: Any = field(default=None, compare=False, repr=False)
    key: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "now", as_moment(self.now))
        # One name is a list of one.
        for name in ("features", "ignore"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        if self.embeddings is not None and self.features:
            raise InputError("embeddings take the place of feature columns; name the one or the other")

    @property
    def decay(self) -> Decay:
        """Freshness by domain or half-life; a named column of times asks for it, a guessed one does not."""
        if self.domain is not None and self.half_life is not None:
            raise InputError("freshness is given by a half-life or by a domain, not by both")
        if self.domain is not None:
            return Decay.domain(self.domain)
        if self.half_life is not None:
            return Decay.half_life(self.half_life)
        return Decay.half_life(DEFAULT_HALF_LIFE) if self.time is not None else Decay(0.0)

    def policy(self) -> SamplePolicy:
        """How samples are judged, checked."""
        recipe = recipe_of(self.recipe)
        return SamplePolicy(
            recipe=recipe if self.keep is None else replace(recipe, keep=self.keep),
            profile=profile_of(self.profile),
            decay=self.decay,
            cold_start=ColdStart(self.r_min, self.newcomer),
            seed=self.seed,
        )
