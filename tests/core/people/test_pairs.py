"""Scores and kinds of people, on judges whose kind is known."""

import numpy as np
import pytest
from pair_worlds import world

from anml.core.people.candidates import Net
from anml.core.people.pair_kinds import KINDS, TOGETHER
from anml.core.people.pair_people import judges, words_for
from anml.core.people.pairs import bradley_terry, fit_pairs
from anml.core.people.words import CONTRADICTS

HONEST = ["careful"] * 20
NAMES = [*KINDS]


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
    first, second, choice, who, _ = world(["careful"] * 3, rows=TOGETHER + 30)
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
    _, scores = bradley_terry(Net.of(first, second, 2), first, second, choice)
    assert 0.7 < scores.mean[0] - scores.mean[1] < np.log(3)


def test_those_who_choose_the_worse_are_a_camp_where_they_are_many():
    few, many = (HONEST[:-count] + ["reversed"] * count for count in (1, 5))
    assert words_for(judges(fit_pairs(*world(few)[:4])))[0][-1] == CONTRADICTS
    said = words_for(judges(fit_pairs(*world(many)[:4])))[0]
    assert CONTRADICTS not in said
