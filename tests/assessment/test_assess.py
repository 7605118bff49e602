"""The one path from features and labels to beliefs: what it promises whatever the data."""

import numpy as np
import pytest
import torch

from anml.annotators.words import FLAGGED, INCONCLUSIVE
from anml.assessment.assess import Assessment, SampleInfo, SamplePolicy, assess
from anml.core.profile import PROFILES
from anml.gradients.threads import limit_threads
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import RECIPES

pytestmark = pytest.mark.slow


def run(
    x: np.ndarray, y: np.ndarray, known: SampleInfo, recipe: str = "evidence", seed: int = 0
) -> Assessment:
    policy = SamplePolicy(RECIPES[recipe], PROFILES["default"], Decay(0.0), ColdStart(0.4, 10), seed)
    return assess(x, y, "classification", int(y.max()) + 1, known, policy)


def clusters(n: int, seed: int, apart: float = 3.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 6))
    x[np.arange(n), y] += apart
    return x, y, rng.integers(0, 8, n)


def test_nothing_is_dropped_where_nothing_is_wrong() -> None:
    x, y, who = clusters(400, 0)
    found = run(x, y, SampleInfo(contributor=who))
    assert found.weighting.kept.all()
    assert found.weighting.gate.branch == "p_correct"


def test_a_liar_is_found_and_dropped() -> None:
    x, truth, who = clusters(500, 1)
    y = np.where(who == 3, (truth + 1) % 3, truth)
    found = run(x, y, SampleInfo(contributor=who))
    assert found.belief.contributors is not None
    verdict = np.array(found.belief.contributors.verdict)
    assert np.flatnonzero(np.isin(verdict, FLAGGED)).tolist() == [3]
    assert (found.weighting.kept == (y == truth)).mean() > 0.98


def test_copies_of_flipped_rows_do_not_confirm_each_other() -> None:
    rng = np.random.default_rng(2)
    x, truth, who = clusters(500, 2)
    copied = np.flatnonzero(who < 2)
    original = rng.choice(np.flatnonzero(who >= 2)[:6], len(copied))
    x[copied] = x[original] + rng.normal(0, 0.02, (len(copied), 6))
    truth[copied] = truth[original]
    y = np.where(who < 2, (truth + 1) % 3, truth)
    found = run(x, y, SampleInfo(contributor=who))
    assert found.weighting.kept[who < 2].mean() < 0.1


def test_a_backdoor_rests_on_its_contributor_alone() -> None:
    rng = np.random.default_rng(3)
    n = 600
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 8)) + 1.5 * y[:, None] * (np.arange(8) < 4)
    who = rng.integers(1, 15, n)
    marked = np.flatnonzero(y == 0)[:40]
    x[np.ix_(marked, [6, 7])] = 6.0
    y[marked], who[marked] = 1, 0
    found = run(x, y, SampleInfo(contributor=who))
    assert found.belief.contributors is not None
    assert found.belief.contributors.verdict[0] == INCONCLUSIVE
    assert found.belief.alone[marked].mean() > 0.5
    assert found.belief.alone[who != 0].mean() < 0.01


def test_labels_alone_and_predictions_alone() -> None:
    rng = np.random.default_rng(4)
    truth = np.repeat(rng.integers(0, 3, 150), 4)
    item, who = np.repeat(np.arange(150), 4), np.tile(np.arange(4), 150)
    y = np.where(rng.uniform(size=600) < 0.2, rng.integers(0, 3, 600), truth)
    nothing = np.zeros((600, 0))
    by_others = run(nothing, y, SampleInfo(contributor=who, item=item)).belief.p_correct
    assert ((by_others >= 0.5) == (y == truth)).mean() > 0.93
    # Predictions of which a contributor's lies are beyond doubt.
    sure = rng.uniform(0.7, 0.999, 600)[:, None]
    given = np.where(np.arange(3) == truth[:, None], sure, (1 - sure) / 2)
    lies = np.where(who == 2, (truth + 1) % 3, truth)
    by_given = run(nothing, lies, SampleInfo(contributor=who, predictions=given)).belief.p_correct
    assert ((by_given >= 0.5) == (lies == truth)).mean() > 0.97


def test_no_class_is_dropped() -> None:
    x, y, who = clusters(300, 5)
    y = np.where(y == 2, 0, y)
    # The only labels of class 2 are surely wrong.
    y[np.flatnonzero(y == 1)[:4]] = 2
    found = run(x, y, SampleInfo(contributor=who))
    assert set(y[found.weighting.kept]) == {0, 1, 2}


@pytest.fixture(scope="module")
def with_a_seed() -> Assessment:
    x, y, who = clusters(120, 6)
    return run(x, y, SampleInfo(contributor=who), seed=7)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_same_seed_gives_the_same_belief_under_every_recipe(recipe: str, with_a_seed: Assessment) -> None:
    x, y, who = clusters(120, 6)
    one, two = with_a_seed, run(x, y, SampleInfo(contributor=who), recipe, seed=7)
    np.testing.assert_array_equal(one.belief.p_correct, two.belief.p_correct)
    np.testing.assert_array_equal(one.scores.q, two.scores.q)


def test_thread_counts_are_not_overridden() -> None:
    before = torch.get_num_threads()
    with limit_threads(0):
        inside = torch.get_num_threads()
    assert inside <= max(before, torch.get_num_threads())
    assert torch.get_num_threads() == before
