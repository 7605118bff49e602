"""The model of contributors: its parts by hand, sums that add up over slices, and laws of every pass."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from people_cases import crowd, flat, noisy_predictions
from scipy import special

from anml.annotators.emissions import emissions, log_prior_without_label, spammer_likelihood
from anml.annotators.evidence import (
    dirichlet_marginal_correction,
    log_bf_atypical,
    log_evidence,
    log_hyperprior,
    self_fit_penalties,
)
from anml.annotators.fit import initial_params
from anml.annotators.model import candidate_hyperparameters, class_posterior, e_step, m_step
from anml.annotators.params import (
    BURN_IN,
    HYPOTHESES,
    Params,
    TypePosteriors,
    default_confusion,
    log_normalise,
)
from anml.annotators.rows import LabelData, SideInformation, make_label_data
from anml.annotators.rows import add_stats as added_up

seeds = st.integers(0, 10_000)


def table(n=60, people=4, classes=3, seed=0, credentials=False):
    """Label data with predictions that are often right; one contributor gives many wrong labels."""
    rng = np.random.default_rng(seed)
    truth, who = rng.integers(0, classes, n), np.r_[np.arange(people), rng.integers(0, people, n - people)]
    y = np.where((who == 0) & (rng.uniform(size=n) < 0.6), (truth + 1) % classes, truth)
    vouched = rng.uniform(size=(n, 2)) if credentials else None
    return make_label_data(noisy_predictions(truth, classes, 0.85, rng), y, SideInformation(who, vouched))


def after(rows, hypothesis="classes", passes=BURN_IN + 3):
    """Parameters and posterior after some passes."""
    params, found = initial_params(rows, hypothesis, 1.0, 2.5), None
    for _ in range(passes):
        found, sums = e_step(params, rows, found)
        params = m_step(params, sums)
    return params, found


class TestNormalised:
    def test_by_hand(self):
        logs, total = log_normalise(np.log([[1.0, 3.0], [2.0, 2.0]]))
        np.testing.assert_allclose(np.exp(logs), [[0.25, 0.75], [0.5, 0.5]])
        np.testing.assert_allclose(total, np.log([4.0, 4.0]))

    @given(seeds)
    def test_is_log_softmax(self, seed):
        logs = np.random.default_rng(seed).normal(0, 30, (5, 4))
        np.testing.assert_allclose(log_normalise(logs)[0], special.log_softmax(logs, axis=1), atol=1e-9)


class TestOccam:
    def test_by_hand(self):
        # Four of one kind in a row under a flat prior: 1/2 2/3 3/4 4/5 = 1/5; each by the other three: 4/5.
        assert dirichlet_marginal_correction(np.array([4.0, 0.0]), np.ones(2)) == pytest.approx(
            np.log(1 / 5) - 4 * np.log(4 / 5)
        )

    def test_a_known_distribution_has_nothing_to_learn(self):
        counts = np.array([40.0, 10.0])
        assert dirichlet_marginal_correction(counts, 1e7 * np.array([0.8, 0.2])) == pytest.approx(0, abs=1e-3)

    def test_nothing_counted_costs_nothing(self):
        np.testing.assert_array_equal(dirichlet_marginal_correction(np.zeros((3, 4)), np.ones((3, 4))), 0)

    @given(seeds)
    def test_never_pays_and_does_not_know_the_order(self, seed):
        rng = np.random.default_rng(seed)
        counts, prior, order = rng.uniform(0, 20, 5), rng.uniform(0.1, 5, 5), rng.permutation(5)
        found = dirichlet_marginal_correction(counts, prior)
        assert found <= 0
        assert dirichlet_marginal_correction(counts[order], prior[order]) == pytest.approx(
            float(found), abs=1e-9
        )


def test_vague_by_hand():
    np.testing.assert_allclose(default_confusion(4)[0], [0.625, 0.125, 0.125, 0.125])
    np.testing.assert_allclose(default_confusion(7).sum(axis=1), 1)


class TestBlind:
    def test_a_label_is_left_out_of_the_distribution_that_judges_it(self):
        # 0, 0, 1: without its own row a label 0 was given once in two, and two are given as all labels are.
        rows = make_label_data(flat(3, 2), np.array([0, 0, 1]), SideInformation(np.zeros(3, dtype=int)))
        params = initial_params(rows, "even", 1.0, 2.5)
        share = params.share
        np.testing.assert_allclose(share, [2 / 3, 1 / 3], atol=1e-3)
        expected = [(1 + 2 * share[0]) / 4, (1 + 2 * share[0]) / 4, (0 + 2 * share[1]) / 4]
        np.testing.assert_allclose(spammer_likelihood(params, rows), expected)


class TestEmissions:
    def rows(self):
        return make_label_data(flat(4, 3), np.array([0, 0, 1, 2]), SideInformation(np.zeros(4, dtype=int)))

    def test_before_anything_is_counted(self):
        params = replace(initial_params(self.rows(), "even", 1.0, 2.5), base=float(np.log(9)))
        ordinary, other = emissions(params, self.rows(), None)
        # Right nine times in ten, and either other class one time in twenty.
        np.testing.assert_allclose(ordinary[0], [0.9, 0.05, 0.05])
        np.testing.assert_allclose(ordinary[3], [0.05, 0.05, 0.9])
        np.testing.assert_allclose(other[2], [1 / 6, 2 / 3, 1 / 6])

    def test_a_row_is_left_out_of_the_counts_that_judge_it(self):
        rows = self.rows()
        own = np.eye(3)[[0, 0, 0, 2]]
        counts = np.zeros((1, 3, 3))
        np.add.at(counts, (0, rows.y), own)
        params = replace(
            initial_params(rows, "even", 1.0, 2.5),
            counts=np.stack([counts, counts]),
            expected=np.array([3.6]),
        )
        _, other = emissions(params, rows, TypePosteriors(own, own, own))
        # The first label: of the other items of class 0 one of two was called 0; the prior is four labels, of
        # which two thirds are right.
        assert other[0, 0] == pytest.approx((1 + 4 * 2 / 3) / (2 + 4))
        # The third called class 0 a 1, as none of the two others did.
        assert other[2, 0] == pytest.approx((0 + 4 / 6) / (2 + 4))
        # The fourth is the only one of its class: nothing but the prior is left.
        assert other[3, 2] == pytest.approx(2 / 3)

    @given(seeds, st.sampled_from(list(HYPOTHESES)))
    def test_are_probabilities(self, seed, hypothesis):
        rows = table(seed=seed)
        params, found = after(rows, hypothesis, 3)
        for part in emissions(params, rows, found):
            assert ((part > 0) & (part < 1)).all()


class TestVotes:
    def labels(self):
        item, who = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
        return make_label_data(flat(4, 2), np.array([1, 1, 0, 0]), SideInformation(who, items=item))

    def test_labels_of_an_item_count_less_where_errors_go_together(self):
        rows = self.labels()
        np.testing.assert_allclose(rows.vote(0.0), 1)
        np.testing.assert_allclose(rows.vote(0.5), [1 / 2, 1 / 2, 1 / 2, 1])
        np.testing.assert_allclose(rows.vote(1.0), [1 / 3, 1 / 3, 1 / 3, 1])

    def test_an_item_is_seen_by_the_others_alone(self):
        rows = self.labels()
        # Everybody is of the population, and right nine times in ten.
        params = replace(
            initial_params(rows, "even", 1.0, 2.5), base=float(np.log(9)), types=np.tile([1.0, 0, 0], (3, 1))
        )
        seen = np.exp(log_prior_without_label(params, rows, *emissions(params, rows, None)))
        # The first is told 1 by the second and 0 by the third; the third 1 by both; the last nothing.
        np.testing.assert_allclose(seen[:, 1], [0.5, 0.5, 81 / 82, 0.5])

    def test_what_is_known_is_certain(self):
        rows = self.labels()
        known = LabelData(
            rows.log_p, rows.y, rows.who, 3, item=rows.item, truth=np.array([-1, -1, 0, -1]),
            wrong=np.array([False, False, False, True]),
        )  # fmt: skip
        params = initial_params(known, "even", 1.0, 2.5)
        seen = np.exp(log_prior_without_label(params, known, *emissions(params, known, None)))
        np.testing.assert_allclose(seen[2], [1, 0], atol=1e-12)
        np.testing.assert_allclose(seen[3], [0, 1], atol=1e-12)


def parts_of(found: TypePosteriors, which) -> TypePosteriors:
    return TypePosteriors(*(part[which] for part in found))


class TestSlices:
    @pytest.mark.parametrize("hypothesis", list(HYPOTHESES))
    @pytest.mark.parametrize("passes", [0, 1, BURN_IN, BURN_IN + 2])
    def test_two_are_one(self, hypothesis, passes):
        rows = table(90, credentials=True)
        params, before = after(rows, hypothesis, passes)
        whole, sums = e_step(params, rows, before)
        found, added = [], None
        for which in (slice(0, 37), slice(37, 90)):
            one, part = e_step(params, rows.some(which), None if before is None else parts_of(before, which))
            found.append(one)
            added = part if added is None else added_up(added, part)
        for name, together in zip(TypePosteriors._fields, zip(*found, strict=True), strict=True):
            np.testing.assert_allclose(np.concatenate(together), getattr(whole, name), atol=1e-12)
        for name in sums._fields:
            np.testing.assert_allclose(getattr(added, name), getattr(sums, name), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(m_step(params, added).types, m_step(params, sums).types, atol=1e-9)

    def test_two_are_one_where_items_have_several_labels(self):
        made = crowd([0.9, 0.8, 0.85, 0.4], items=40, per_item=3)
        rows = make_label_data(flat(120, 3), made.y, made.side)
        params, before = after(rows)
        whole, sums = e_step(params, rows, before)
        added = None
        for which in (slice(0, 60), slice(60, 120)):
            part = LabelData(
                rows.log_p[which], rows.y[which], rows.who[which], rows.count,
                item=np.unique(made.item[which], return_inverse=True)[1],
                voice=np.unique(rows.voice[which], return_inverse=True)[1],
            )  # fmt: skip
            found, statistics = e_step(params, part, parts_of(before, which))
            np.testing.assert_allclose(found.ordinary, whole.ordinary[which], atol=1e-12)
            added = statistics if added is None else added_up(added, statistics)
        for name in sums._fields:
            np.testing.assert_allclose(getattr(added, name), getattr(sums, name), rtol=1e-9, atol=1e-9)


class TestPasses:
    @given(seeds, st.sampled_from(list(HYPOTHESES)))
    def test_probabilities_sum_to_one(self, seed, hypothesis):
        rows = table(seed=seed)
        params, found = after(rows, hypothesis)
        for part in (found.ordinary, found.other, np.exp(found.seen), class_posterior(params, rows, found)):
            np.testing.assert_allclose(part.sum(axis=1), 1, atol=1e-9)
            assert (part >= 0).all()
        np.testing.assert_allclose(params.types.sum(axis=1), 1, atol=1e-9)
        np.testing.assert_allclose(params.wrong_to().sum(axis=1), 1, atol=1e-9)
        np.testing.assert_allclose(params.usual.sum(), 1, atol=1e-9)
        np.testing.assert_allclose(params.pooled().sum(axis=1), 1, atol=1e-9)

    @given(seeds)
    def test_counts_are_as_many_as_rows(self, seed):
        rows = table(seed=seed)
        _, found = after(rows)
        params, _ = after(rows)
        _, sums = e_step(params, rows, found)
        np.testing.assert_allclose(sums.counts.sum(axis=(2, 3)), np.tile(params.size, (2, 1)))
        np.testing.assert_allclose(sums.counts.sum(axis=3), np.stack([params.given, params.given]))
        assert sums.seen.sum() == pytest.approx(rows.n)

    @given(seeds)
    def test_rows_may_come_in_any_order(self, seed):
        rows, order = table(seed=seed), np.random.default_rng(seed).permutation(60)
        params, found = after(rows)
        other, again = after(rows.some(order))
        np.testing.assert_allclose(again.ordinary, found.ordinary[order], atol=1e-7)
        np.testing.assert_allclose(other.types, params.types, atol=1e-7)

    @given(seeds)
    def test_people_may_be_named_otherwise(self, seed):
        rows, names = table(seed=seed), np.random.default_rng(seed).permutation(4)
        params, _ = after(rows)
        other, _ = after(LabelData(rows.log_p, rows.y, names[rows.who], 4))
        np.testing.assert_allclose(other.types[names], params.types, atol=1e-7)

    def test_that_most_labels_are_wrong_is_never_believed(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 300)
        params, _ = after(
            make_label_data(noisy_predictions(truth, 2, 0.9, rng), 1 - truth, SideInformation()), "even", 20
        )
        assert params.base >= 0

    def test_where_nobody_is_judged_everybody_is_ordinary(self):
        rows = table()
        params, _ = after(rows, "all ordinary")
        np.testing.assert_array_equal(params.types, np.tile([1.0, 0, 0], (4, 1)))
        assert log_bf_atypical(params) == 0.0


class TestSettings:
    def test_one_is_tried_at_every_other_pass_and_the_present_comes_first(self):
        rows = table()
        for passes in range(1, BURN_IN + 8):
            params, _ = after(rows, "classes", passes)
            options = candidate_hyperparameters(params)
            if passes % 2:
                assert options == []
            else:
                assert options[0] is params
                assert len(options) in (2, 3)

    @given(seeds)
    def test_they_stay_within_their_limits(self, seed):
        params, _ = after(table(seed=seed), passes=30)
        assert 0.1 <= params.temperature <= params.hottest
        assert 1 <= params.skill <= 1000
        assert 1 <= params.alike <= 1000
        assert 0 <= params.together < 1

    def test_how_alike_people_are_is_likeliest_where_it_is_usual(self):
        params = initial_params(table(), "even", 1.0, 2.5)
        assert log_hyperprior(params) == 0
        # e ** 1.5 times as alike is one deviation away.
        assert log_hyperprior(replace(params, skill=params.skill * np.exp(1.5))) == pytest.approx(-0.5)


class TestEvidence:
    def test_learning_costs_are_paid_by_whoever_learns(self):
        rows = table()
        params, found = after(rows)
        _, sums = e_step(params, rows, found)
        costs = self_fit_penalties(params, sums.counts, sums.expected)
        assert costs.shape == (4, 3)
        assert (costs <= 0).all()
        assert (costs[:, 1:] < 0).all()

    def test_the_account_that_is_true_is_likelier(self):
        rng = np.random.default_rng(1)
        truth, who = rng.integers(0, 3, 400), rng.integers(0, 8, 400)
        y = np.where(who == 0, (truth + 1) % 3, truth)
        rows = make_label_data(noisy_predictions(truth, 3, 0.95, rng), y, SideInformation(who))
        evidence = {}
        for hypothesis in ("none", "all ordinary"):
            params, found = after(rows, hypothesis, 15)
            evidence[hypothesis] = log_evidence(params, e_step(params, rows, found)[1])
        assert evidence["none"] > evidence["all ordinary"] + 10

    def test_parameters_are_not_changed_in_place(self):
        rows = table()
        params: Params = initial_params(rows, "even", 1.0, 2.5)
        types = params.types.copy()
        _, sums = e_step(params, rows, None)
        m_step(params, sums)
        np.testing.assert_array_equal(params.types, types)
        assert params.counts is None
