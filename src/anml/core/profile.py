"""How the scoring model is trained and read: what a user may choose, checked where it is made."""

from dataclasses import dataclass, fields, replace
from typing import Any

from anml.core.checks import one_of, whole
from anml.core.errors import InputError

# Where raw scores can come from; each has its function in `anml.gradients.scoring`.
SCORES = ("krum", "norm", "loss", "confidence")


@dataclass(frozen=True)
class Training:
    """How predictors learn: networks by widths of hidden layers, trees, and in how many rounds."""

    hidden: tuple[int, ...] = (64, 32)
    max_epochs: int = 300
    folds: int = 5
    lr: float = 1e-3
    batch: int | None = None
    rounds: int = 3
    trees: int = 20


@dataclass(frozen=True)
class Profile(Training):
    """How the scoring model is trained and read, by the score `method` of `SCORES`.

    It trains for `epochs`; None stops early by held-out likelihood, after at most `max_epochs`. A Krum score
    has `k` neighbours; None is the classic n - f - 2, with f from `malicious`. They are sought among so many
    random `references`; None takes all up to 10,000 samples and 2,048 above, 0 takes all.
    """

    epochs: int | None = None
    k: int | None = 10
    malicious: float | None = None
    references: int | None = None
    method: str = "krum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for width in self.hidden:
            whole("a width of hidden", width, 1)
        for name in ("epochs", "max_epochs", "batch", "rounds", "trees"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        whole("folds", self.folds, 2)
        one_of("score", self.method, SCORES)


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
