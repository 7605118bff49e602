"""Contributors who copy each other are one voice; contributors who know the answer are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from people_cases import crowd as made_up

from anml.annotators.copies import copy_groups_in_memory
from anml.annotators.fit import fit_label_model
from anml.annotators.result import average_over_hypotheses
from anml.annotators.rows import SideInformation, make_label_data


def crowd(accuracy, items=200, per_item=4, seed=0):
    return made_up(accuracy, 4, items, per_item, seed)


def copied(item, who, y, copier, original):
    """The same labels, with those of one copied from another where both labelled an item."""
    given = dict(zip(item[who == original].tolist(), y[who == original].tolist(), strict=True))
    rows = np.flatnonzero(who == copier)
    out = y.copy()
    out[rows] = [given.get(int(item[row]), int(y[row])) for row in rows]
    return out


class TestCamps:
    def test_a_copier_is_found_and_nobody_else(self):
        item, who, y, _ = crowd([0.4, 0.4] + [0.85] * 6)
        y = copied(item, who, y, 1, 0)
        assert copy_groups_in_memory(item, who, y).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]

    @given(st.integers(0, 10_000), st.sampled_from([0.5, 0.7, 0.9, 0.99]))
    def test_who_is_right_by_himself_copies_nobody(self, seed, accuracy):
        item, who, y, _ = crowd([accuracy] * 6, seed=seed, items=120)
        assert len(set(copy_groups_in_memory(item, who, y).tolist())) == 6

    @given(st.integers(0, 10_000))
    def test_two_experts_among_guessers_are_two_voices(self, seed):
        item, who, y, _ = crowd([0.97, 0.97] + [0.25] * 6, seed=seed, items=150)
        found = copy_groups_in_memory(item, who, y)
        assert found[0] != found[1]

    def test_everybody_agrees(self):
        item, who, y, _ = crowd([1.0] * 5)
        assert len(set(copy_groups_in_memory(item, who, y).tolist())) == 5

    @given(st.integers(0, 10_000))
    def test_rows_may_come_in_any_order(self, seed):
        item, who, y, _ = crowd([0.4, 0.4, 0.8, 0.8, 0.8], items=60, seed=seed)
        y = copied(item, who, y, 1, 0)
        order = np.random.default_rng(seed).permutation(len(y))
        assert (
            copy_groups_in_memory(item[order], who[order], y[order]) == copy_groups_in_memory(item, who, y)
        ).all()

    def test_one_label_an_item_has_no_pairs(self):
        assert copy_groups_in_memory(
            np.arange(6), np.array([0, 1, 2, 0, 1, 2]), np.zeros(6, dtype=int)
        ).tolist() == [
            0,
            1,
            2,
        ]

    def test_memory_is_that_of_the_pairs_that_meet(self):
        # 20,000 contributors, each meeting one other: a full table would be 3 GiB.
        item, who = np.repeat(np.arange(10_000), 2), np.arange(20_000)
        assert len(np.unique(copy_groups_in_memory(item, who, np.zeros(20_000, dtype=int)))) == 20_000


class TestOneVoice:
    def test_copies_do_not_outvote_one_honest_label(self):
        """A liar and two copies are not confirmed if they label alone, and are outvoted if others label."""
        item, who, y, truth = crowd([0.3, 0.3, 0.3] + [0.92] * 6, items=400, per_item=4, seed=3)
        for copier in (1, 2):
            y = copied(item, who, y, copier, 0)
        flat = np.tile(np.log(np.full(4, 0.25)), (len(y), 1))
        _, fits, weights = fit_label_model(flat, y, SideInformation(who, items=item))
        believed = average_over_hypotheses(weights, [fit.truth for fit in fits]).argmax(axis=1) == truth
        assert believed.mean() > 0.85

    def test_a_voice_counts_once_however_often_it_is_heard(self):
        item, who = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1])
        rows = make_label_data(
            np.log(np.full((5, 2), 0.5)), np.array([1, 1, 0, 1, 0]), SideInformation(who, items=item)
        )
        np.testing.assert_allclose(rows.vote_weight, [0.5, 0.5, 1, 1, 1])


class TestAllOrdinary:
    @pytest.mark.parametrize("seed", range(3))
    def test_everybody_is_ordinary_where_predictions_are_as_flat_as_they_say(self, seed):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(4), 600)
        y = np.array([rng.choice(4, p=row) for row in p])
        _, fits, weights = fit_label_model(np.log(p), y, SideInformation(rng.integers(0, 12, 600)))
        assert average_over_hypotheses(weights, [fit.params.types[:, 0] for fit in fits]).min() > 0.9

    def test_without_contributors_it_is_no_hypothesis_of_its_own(self):
        y = np.array([0, 1] * 20)
        _, fits, _ = fit_label_model(np.log(np.eye(2)[y] * 0.8 + 0.1), y, SideInformation())
        assert [fit.params.hypothesis for fit in fits] == ["none", "even", "classes"]


def answers(seed, items, known):
    """Labels of everybody for every item of four classes: people know the answer with these probabilities."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, items)
    right = rng.random((len(known), items)) < np.array(known)[:, None]
    return np.where(right, truth, rng.integers(0, 4, (len(known), items)))


def groups(given):
    who, item = np.indices(given.shape)
    return copy_groups_in_memory(item.ravel(), who.ravel(), given.ravel()).tolist()


def test_more_copies_than_others_do_not_vouch_for_each_other():
    given = answers(0, 150, [0.5] * 5 + [0.0])
    assert groups(np.vstack([given, *[given[5:]] * 5])) == [0, 1, 2, 3, 4, *[5] * 6]


@pytest.mark.parametrize("seed", range(5))
def test_more_experts_than_others_are_no_copies(seed):
    assert groups(answers(seed, 150, [1.0] * 6 + [0.5] * 5)) == [*range(11)]
    assert groups(answers(seed, 150, [1.0] * 6)) == [*range(6)]
