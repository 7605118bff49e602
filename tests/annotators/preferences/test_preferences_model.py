"""Scores and kinds of people, on judges whose kind is known."""

import numpy as np
import pytest

from anml.annotators.preferences.candidates import ComparisonGraph
from anml.annotators.preferences.kinds import ANNOTATOR_TYPES, BATCH_SIZE
from anml.annotators.preferences.model import bradley_terry, fit_pairs
from anml.annotators.preferences.verdicts import annotator_estimates, verdicts_for
from anml.annotators.words import CONTRADICTS, FLAGGED, GUESSING
from experiments.pairs import predict
from pair_worlds import world

HONEST = ["careful"] * 20
NAMES = [*ANNOTATOR_TYPES]


def test_scores_are_found():
    first, second, choice, who, scores = world(HONEST)
    fit = fit_pairs(first, second, choice, who)
    assert np.corrcoef(fit.scores.mean, scores)[0, 1] > 0.95
    inside = np.abs(fit.scores.mean - (scores - scores.mean())) < 3 * np.sqrt(fit.net.variance(fit.scores))
    assert inside.mean() > 0.9
    assert fit.kinds[:, NAMES.index("careful")].mean() > 0.8


@pytest.mark.parametrize(
    ("kind", "called"),
    [("coin", ("coin", "side", "mild taste")), ("first", ("side",)), ("reversed", ("reversed",)),
     ("taste", ("taste", "mild taste"))],
)  # fmt: skip
def test_kinds_are_told_apart(kind, called):
    first, second, choice, who, _ = world([*HONEST, kind, kind], rows=80)
    fit = fit_pairs(first, second, choice, who)
    found = fit.kinds[-2:, [NAMES.index(name) for name in called]].sum(axis=1)
    assert found.min() > 0.6
    assert fit.kinds[:-2, NAMES.index("careful")].mean() > 0.8


def test_turning_every_comparison_around_turns_nothing_else():
    first, second, choice, who, _ = world([*HONEST, "first"], rows=40)
    fit = fit_pairs(first, second, choice, who)
    turned = np.where(choice == 2, 2, 1 - choice)
    other = fit_pairs(second, first, turned, who)
    assert other.scores.mean == pytest.approx(fit.scores.mean, abs=1e-6)
    assert other.kinds == pytest.approx(fit.kinds, abs=1e-6)
    assert other.params.side == pytest.approx(-fit.params.side, abs=1e-8)


def test_people_with_very_many_comparisons_are_looked_at_in_parts():
    first, second, choice, who, _ = world(["careful"] * 3, rows=BATCH_SIZE + 30)
    fit = fit_pairs(first, second, choice, who)
    assert sum(batch.used.sum() for batch in fit.batches) == len(who)
    assert np.bincount(np.concatenate([batch.owner for batch in fit.batches])).tolist() == [2, 2, 2]


def test_separate_groups_are_scored_apart():
    first, second, choice, who, _ = world(HONEST, candidates=20, groups=4)
    fit = fit_pairs(first, second, choice, who)
    assert len(fit.net.size) == 4
    for part in range(4):
        assert abs(fit.scores.mean[fit.net.part == part].mean()) < 0.5


def test_one_comparison_is_enough_to_run():
    fit = fit_pairs(np.array([0]), np.array([1]), np.array([0]), np.array([0]))
    assert fit.scores.mean[0] > fit.scores.mean[1]
    assert np.isfinite(fit.kinds).all()


def test_all_ties_leave_the_scores_equal():
    n = 40
    first, second = np.arange(n) % 5, (np.arange(n) + 1) % 5
    fit = fit_pairs(first, second, np.full(n, 2), np.arange(n) % 4)
    assert np.abs(fit.scores.mean).max() < 0.1
    assert np.isfinite(fit.kinds).all()


def test_bradley_terry_by_hand():
    # Of 100 comparisons the first of two wins 75: log 3 apart, less what the prior takes.
    first, second = np.zeros(100, int), np.ones(100, int)
    first[50:], second[50:] = 1, 0
    choice = np.r_[np.zeros(37), np.ones(13), np.zeros(12), np.ones(38)].astype(int)
    _, scores = bradley_terry(ComparisonGraph.of(first, second, 2), first, second, choice)
    assert 0.7 < scores.mean[0] - scores.mean[1] < np.log(3)


def test_those_who_choose_the_worse_are_a_camp_where_they_are_many():
    few, many = (HONEST[:-count] + ["reversed"] * count for count in (1, 5))
    assert verdicts_for(annotator_estimates(fit_pairs(*world(few)[:4])))[0][-1] == CONTRADICTS
    said = verdicts_for(annotator_estimates(fit_pairs(*world(many)[:4])))[0]
    assert CONTRADICTS not in said


def test_one_answer_nearly_always_is_told_from_many_ties():
    """Somebody who holds all for equal does not look; somebody who does so of what is close, does."""
    first, second, choice, who, scores = world([*HONEST, "careful", "careful"], rows=20)
    d = scores[first] - scores[second]
    choice[who == 20] = 2
    choice[(who == 21) & (np.abs(d) < np.quantile(np.abs(d), 0.6))] = 2
    words, _ = verdicts_for(annotator_estimates(fit_pairs(first, second, choice, who)))
    assert words[20] == GUESSING
    assert words[21] not in FLAGGED
    assert not set(words[:20]) & set(FLAGGED)


@pytest.mark.parametrize("told", [True, False])
def test_held_out_choices_are_predicted_better_by_features_that_say_something(told):
    rng = np.random.default_rng(1)
    x, own = rng.normal(size=(400, 5)), 2 * rng.normal(size=400)
    score = x @ [1.2, -1, 0.8, 0.5, -0.3] if told else own
    who, first = np.arange(1000) % 25, rng.integers(400, size=1000)
    second = (first + rng.integers(1, 400, 1000)) % 400
    choice = (rng.random(1000) > 1 / (1 + np.exp(score[second] - score[first]))).astype(int)
    train, test = np.arange(1000) >= 250, np.arange(1000) < 250
    loss = []
    for features in (np.zeros((400, 1)), x):
        fit = fit_pairs(first[train], second[train], choice[train], who[train], features=features)
        p = predict(fit, first[test], second[test], who[test])
        loss.append(-np.log(p[np.arange(250), choice[test]]).mean())
    assert loss[1] < loss[0] - 0.05 if told else loss[1] < loss[0] + 0.01
    share = fit.params.told / (fit.params.told + fit.params.spread)
    assert share > 0.6 if told else share < 0.1
