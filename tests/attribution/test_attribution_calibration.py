"""Influence from retrainings: by hand, its laws, and that intervals hold what they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.attribution.calibration import (
    EffectFit,
    Retrainings,
    beyond,
    ceiling,
    draw_coalitions,
    fisher_interval,
    lds,
    topic_means,
)


def game(seed, contributors=12, retrainings=10, topics=3, noise=0.05, useful=1.0):
    """Effects around a slope times scores, and losses of coalitions that leave subset out."""
    rng = np.random.default_rng(seed)
    scores = rng.gamma(2.0, 1.0, (topics, contributors))
    effects = (
        useful * 0.7 * scores
        + 0.2 * rng.normal(size=scores.shape)
        + (1 - useful) * rng.normal(size=scores.shape)
    )
    members, _ = draw_coalitions(contributors, retrainings, rng)
    left = (~members).astype(float)
    losses = left @ effects.T + noise * rng.normal(size=(len(left), topics))
    return Retrainings(left, losses), scores, effects


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 60), st.integers(4, 30), st.integers(0, 99))
def test_coalitions_are_neither_empty_nor_whole_and_come_in_pairs(count, retrainings, seed):
    members, repeated = draw_coalitions(count, retrainings, np.random.default_rng(seed))
    assert members.shape == (retrainings, count)
    assert members.any(axis=1).all()
    assert not members.all(axis=1).any()
    new = [at for at, each in enumerate(repeated) if each < 0]
    for one, two in zip(new[::2], new[1::2], strict=False):
        assert (members[one] == ~members[two]).all()
    for at, one in enumerate(repeated):
        assert one < 0 or (members[at] == members[one]).all()


def test_scores_that_predict_get_their_slope():
    trainings, scores, effects = game(0)
    fit = EffectFit(trainings, scores, np.ones(12))
    for topic, mean in enumerate(np.eye(3)):
        assert np.corrcoef(fit.effects(mean).mean, effects[topic])[0, 1] > 0.9
    total = fit.effects(np.full(3, 1 / 3)).mean
    assert total.sum() == pytest.approx(effects.mean(axis=0).sum(), rel=0.2)


def test_scores_without_a_meaning_are_given_up():
    trainings, scores, _ = game(1, useful=0.0, retrainings=20)
    useless = EffectFit(trainings, scores, np.ones(12))
    others, right, _ = game(1, retrainings=20)
    useful = EffectFit(others, right, np.ones(12))
    assert useless.log_sd[0] < useful.log_sd[0]
    assert useless.log_evidence < useful.log_evidence


def test_intervals_hold_the_effects():
    held = []
    for seed in range(20):
        trainings, scores, effects = game(seed)
        result = EffectFit(trainings, scores, np.ones(12)).effects(np.full(3, 1 / 3))
        half = 1.96 * np.sqrt(np.diag(result.covariance))
        held.append((np.abs(result.mean - effects.mean(axis=0)) <= half).mean())
    assert 0.85 <= np.mean(held) <= 1.0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 99), st.floats(0.1, 10))
def test_units_of_scores_and_of_losses_do_not_matter(seed, unit):
    trainings, scores, _ = game(seed)
    plain = EffectFit(trainings, scores, np.ones(12))
    scaled = EffectFit(
        Retrainings(trainings.left, unit * trainings.losses), scores / unit, np.ones(12) / unit, plain.log_sd
    )
    mean = np.array([0.5, 0.3, 0.2])
    assert scaled.effects(mean).mean == pytest.approx(unit * plain.effects(mean).mean, rel=1e-4, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 99))
def test_the_order_of_contributors_does_not_matter(seed):
    trainings, scores, _ = game(seed)
    order = np.random.default_rng(seed).permutation(12)
    mean = np.full(3, 1 / 3)
    fit = EffectFit(trainings, scores, np.arange(1.0, 13))
    turned = EffectFit(
        Retrainings(trainings.left[:, order], trainings.losses),
        scores[:, order],
        np.arange(1.0, 13)[order],
        fit.log_sd,
    )
    assert turned.effects(mean).mean == pytest.approx(fit.effects(mean).mean[order], abs=1e-6)


def test_the_score_of_predictions_by_hand():
    predicted = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    assert lds(predicted, np.array([[10.0, 10.0], [20.0, 20.0], [30.0, 30.0]])).tolist() == [1.0, -1.0]
    assert lds(np.zeros((3, 1)), np.arange(3.0)[:, None]).tolist() == [0.0]


def test_known_effects_is_taken_out():
    known = np.arange(6.0)[:, None]
    rest = np.array([1.0, -1.0, 0.0, 0.0, -1.0, 1.0])
    values = 3 * known + 5 + rest[:, None]
    assert beyond(values, known)[:, 0] == pytest.approx(rest)
    assert beyond(values, known[None])[:, 0] == pytest.approx(rest)


def test_the_ceiling_is_one_without_noise_and_less_with_it():
    left, losses = np.eye(4), np.array([[0.0], [2.0], [0.0], [2.0]])
    assert ceiling(Retrainings(left, losses, ((0, 2), (1, 3)))) == pytest.approx([1.0])
    # Half of the variance of 4/3 between seeds: squares of 0.5 over 2 are 1/8 each.
    noisy = np.array([[0.0], [2.0], [0.5], [1.5]])
    spread = float(noisy.var(ddof=1))
    assert ceiling(Retrainings(left, noisy, ((0, 2), (1, 3)))) == pytest.approx([np.sqrt(1 - 0.125 / spread)])
    assert ceiling(Retrainings(left, losses)) is None


def test_topics_have_weighted_means():
    mean, share = topic_means(np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]))
    assert mean == pytest.approx(np.array([[0.25, 0.0, 0.75], [0.0, 1.0, 0.0]]))
    assert share == pytest.approx([4 / 6, 2 / 6])


def test_an_interval_of_a_correlation_narrows():
    wide, narrow = fisher_interval(0.8, 8), fisher_interval(0.8, 60)
    assert wide[0] < narrow[0] < 0.8 < narrow[1] < wide[1] <= 1
    assert fisher_interval(0.8, 4) == (-1.0, 1.0)
