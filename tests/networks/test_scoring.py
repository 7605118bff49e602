"""The scoring model: what it keeps on real data with flipped labels, and where it stops."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split

from anml.core.errors import InputError, UnknownNameError
from anml.core.profile import SCORE_METHODS, Profile, profile_of
from anml.networks.scoring import SCORERS, score
from anml.weighting.selection import keep_top

DATA = {"wine": load_wine, "breast-cancer": load_breast_cancer, "digits": load_digits}


def flipped(name: str, seed: int, share: float = 0.3):
    """A training part with uniform label flips, and the mask of those left right."""
    x, y = DATA[name](return_X_y=True)
    x, _, y, _ = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    bad = np.zeros(len(y), dtype=bool)
    bad[rng.choice(len(y), round(share * len(y)), replace=False)] = True
    classes = int(y.max()) + 1
    return x, np.where(bad, (y + rng.integers(1, classes, len(y))) % classes, y), ~bad, classes


def precision(name: str, seed: int, profile) -> float:
    x, y, clean, classes = flipped(name, seed)
    result = score(x, y, "classification", classes=classes, profile=profile, seed=seed)
    return float(clean[keep_top(result.q, 0.7)].mean())


def test_paper_profile_keeps_what_the_paper_kept_on_wine():
    """The paper: 85.1% of Krum's top 70% are clean."""
    kept = [precision("wine", seed, "paper") for seed in range(20)]
    assert np.mean(kept) == pytest.approx(0.851, abs=0.03)


@pytest.mark.parametrize(
    ("name", "seeds", "bar"), [("wine", 20, 0.93), ("breast-cancer", 20, 0.89), ("digits", 4, 0.93)]
)
@pytest.mark.slow
def test_early_stopped_default_keeps_more(name, seeds, bar):
    assert np.mean([precision(name, seed, "default") for seed in range(seeds)]) > bar


def test_every_score_that_can_be_chosen_has_its_function():
    assert tuple(SCORERS) == SCORE_METHODS


@pytest.mark.parametrize("method", SCORERS)
def test_every_score_beats_chance_by_far(method):
    assert precision("wine", 0, {"method": method}) > 0.85


def test_references_lose_almost_nothing():
    x, y, clean, classes = flipped("digits", 1)

    def kept(references):
        result = score(x, y, "classification", classes=classes, profile={"references": references})
        return clean[keep_top(result.q, 0.7)].mean()

    assert kept(300) > kept(0) - 0.02


def test_classic_rule():
    assert precision("wine", 0, {"k": None, "malicious": 0.3}) > 0.85


def test_regression_finds_shifted_labels():
    x, y = load_diabetes(return_X_y=True)
    bad = np.random.default_rng(0).uniform(size=len(y)) < 0.2
    shifted = np.where(bad, y + 4 * y.std(), y)
    result = score(x, shifted, "regression")
    assert (~bad)[keep_top(result.q, 0.8)].mean() > 0.95


def test_same_seed_same_scores():
    x, y, _, classes = flipped("wine", 0)
    one, two = (score(x, y, "classification", classes=classes, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.raw, two.raw)
    np.testing.assert_array_equal(one.held_out, two.held_out)


def test_rows_of_one_item_are_held_out_together():
    """Five copies of each row under five random labels: without groups they would tell on each other."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(60, 4)), 5, axis=0)
    y = np.repeat(rng.integers(0, 2, 60), 5)
    groups = np.repeat(np.arange(60), 5)
    leaky = score(x, y, "classification", classes=2, profile={"max_epochs": 200})
    honest = score(x, y, "classification", classes=2, groups=groups, profile={"max_epochs": 200})

    def agreement(result):
        return (result.held_out.argmax(axis=1) == y).mean()

    assert agreement(leaky) > 0.8
    assert agreement(honest) < 0.7


@pytest.mark.parametrize("n", [2, 3, 5])
def test_tiny_tables(n):
    result = score(np.arange(n * 2.0).reshape(n, 2), np.arange(n) % 2, "classification", classes=2)
    assert result.q.shape == (n,)
    assert np.isfinite(result.held_out).all()


def test_constant_features_and_huge_values():
    x = np.c_[np.ones(20), np.linspace(-1e30, 1e30, 20)]
    result = score(x, (np.arange(20) > 9).astype(int), "classification", classes=2)
    assert np.isfinite(result.raw).all()


@pytest.mark.parametrize(
    "bad", [{"hidden": (0,)}, {"epochs": 0}, {"folds": 1}, {"batch": 0}, {"max_epochs": 0}], ids=str
)
def test_bad_profiles(bad):
    with pytest.raises(InputError):
        Profile(**bad)


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="profile 'papre'"):
        profile_of("papre")
    with pytest.raises(UnknownNameError, match="score 'krumm'"):
        Profile(method="krumm")
