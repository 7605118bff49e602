"""Settings of the scoring model; they are validated on construction."""

from dataclasses import dataclass, fields, replace
from typing import Any

from anml.core.checks import as_integer, one_of
from anml.core.errors import InputError

# Annotator models of class labels; an engine fits "types" only.
ANNOTATOR_MODELS = ("types", "population")
# Where raw scores can come from; each has its function in `anml.networks.scoring`.
SCORE_METHODS = ("krum", "norm", "loss", "confidence")


@dataclass(frozen=True)
class PredictorTraining:
    """Training settings of predictors: hidden layer widths, number of trees, number of rounds.

    `annotators` is the annotator model of class labels: "types", or "population" with subtypes of items.
    """

    hidden: tuple[int, ...] = (64, 32)
    max_epochs: int = 300
    folds: int = 5
    lr: float = 1e-3
    batch: int | None = None
    rounds: int = 3
    trees: int = 20
    annotators: str = "types"


@dataclass(frozen=True)
class Profile(PredictorTraining):
    """Training settings of the scoring model, and the score `method`, one of `SCORES`.

    The model is trained for `epochs`; None uses early stopping by held-out likelihood, with at most
    `max_epochs`. A Krum score uses `k` neighbours; None is the classic n - f - 2, with f from `malicious`.
    Neighbours are searched among `references` random samples; None uses all samples up to 10,000 and 2,048
    above, 0 uses all.
    """

    epochs: int | None = None
    k: int | None = 10
    malicious: float | None = None
    references: int | None = None
    method: str = "krum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for width in self.hidden:
            as_integer("a width of hidden", width, 1)
        for name in ("epochs", "max_epochs", "batch", "rounds", "trees"):
            if getattr(self, name) is not None:
                as_integer(name, getattr(self, name), 1)
        as_integer("folds", self.folds, 2)
        one_of("annotators", self.annotators, ANNOTATOR_MODELS)
        one_of("score", self.method, SCORE_METHODS)


PROFILES: dict[str, Profile] = {
    "default": Profile(),
    "paper": Profile(epochs=200, k=10, references=0),
    "quick": Profile(max_epochs=20, folds=2, rounds=1, trees=8),
}


def profile_of(profile: str | Profile | dict[str, Any]) -> Profile:
    """Return a profile given by name, by what differs from the default, or as it is."""
    if isinstance(profile, str):
        return PROFILES[one_of("profile", profile, PROFILES)]
    if isinstance(profile, dict):
        for name in profile:
            one_of("profile setting", name, [f.name for f in fields(Profile)])
        return replace(PROFILES["default"], **profile)
    if not isinstance(profile, Profile):
        raise InputError(f"profile must be a name, a dict or a Profile, got {profile!r}")
    return profile
