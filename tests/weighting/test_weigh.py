"""Combining and selecting: numbers by hand, then laws that every combiner obeys, then edge cases."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.core.types import Recipe, Signals, Weighting
from anml.weighting.combine import DISPUTE_REASON, correlation, softmax, softmax_blend
from anml.weighting.selection import keep_top, sample_by_weight
from anml.weighting.weigh import COMBINERS, RECIPES, compute_sample_weights, recipe_of, training_labels, weigh

unit = st.floats(0, 1)


@st.composite
def some_signals(draw_, min_size=1):
    n = draw_(st.integers(min_size, 25))
    q, v, r, t, clean = (np.array(draw_(st.lists(unit, min_size=n, max_size=n))) for _ in range(5))
    return Signals.of(q, v, r, t, p_correct=clean)


class TestByHand:
    def test_multiplicative(self):
        result = weigh([1.0, 0.5], v=[0.8, 0.4], r=[0.5, 0.5], recipe="multiplicative")
        np.testing.assert_allclose(result.w, [0.4 / 0.5, 0.1 / 0.5])

    def test_softmax_blend(self):
        result = weigh([1.0, 0.0], v=[0.0, 1.0], r=[1.0, 1.0], recipe=Recipe("softmax", alpha=0.25))
        high = math.e / (math.e + 1)
        np.testing.assert_allclose(
            result.w, [0.25 * high + 0.75 * (1 - high), 0.25 * (1 - high) + 0.75 * high]
        )

    def test_softmax_at_temperature_one_is_almost_flat(self):
        w = weigh([1.0, 0.0], v=[1.0, 0.0], r=1.0, recipe="softmax").w
        assert w.max() / w.min() == pytest.approx(math.e)

    def test_suppression_of_the_papers_bad_contributor(self):
        bad, good = 0.1 * 0.15, 0.8 * 0.8
        w = weigh([1.0, 1.0], v=[0.1, 0.8], r=[0.15, 0.8], recipe="multiplicative").w
        assert w[0] / w[1] == pytest.approx(bad / good)
        assert bad == pytest.approx(0.015)

    def test_freshness_comes_after_the_blend(self):
        plain = weigh([0.9, 0.5], v=[0.9, 0.5], r=0.9, recipe="softmax").w
        aged = weigh([0.9, 0.5], v=[0.9, 0.5], r=0.9, t=[0.5, 1.0], recipe="softmax").w
        np.testing.assert_allclose(aged, plain * [0.5, 1.0])
        assert aged.sum() < 1

    def test_correlation_against_numpy(self):
        rng = np.random.default_rng(0)
        q, s = rng.uniform(size=50), rng.uniform(size=50)
        assert correlation(q, s) == pytest.approx(np.corrcoef(q, s)[0, 1])

    def test_keep_top(self):
        w = np.array([0.1, 0.5, 0.2, 0.9, 0.3, 0.8, 0.7, 0.4, 0.6, 0.0])
        kept = keep_top(w, 0.7)
        assert kept.sum() == 7
        assert set(np.flatnonzero(~kept)) == {0, 2, 9}


class TestGate:
    def honest_and_bad(self):
        q = np.array([0.9, 0.8, 0.85, 0.1, 0.2])
        v, r = np.array([0.9, 0.8, 0.9, 0.2, 0.2]), np.array([0.9, 0.9, 0.8, 0.3, 0.2])
        return q, v, r

    def test_stage_one_fires_when_every_signal_is_high(self):
        result = weigh([0.9, 0.1, 0.5], v=[0.9, 0.8, 0.9], r=[0.8, 0.9, 0.7], recipe="adaptive")
        assert result.gate.branch == "uniform"
        np.testing.assert_allclose(result.w, [1 / 3] * 3)
        assert result.kept.all()
        assert result.gate.s_min == pytest.approx(0.63)

    def test_stage_one_is_strict(self):
        assert weigh([0.9, 0.1], v=0.35, r=1.0, recipe="adaptive").gate.branch != "uniform"

    def test_stage_two_trusts_credentials_that_correlate(self):
        q, v, r = self.honest_and_bad()
        result = weigh(q, v, r, recipe="adaptive")
        assert result.gate.branch == "blend"
        assert result.gate.rho_c == pytest.approx(np.corrcoef(q, v * r)[0, 1])

    def test_stage_two_falls_back_to_krum(self):
        q, v, r = self.honest_and_bad()
        result = weigh(q, v[::-1], r[::-1], recipe="adaptive")
        assert result.gate.branch == "q_only"
        np.testing.assert_allclose(result.w, q / q.sum())

    def test_undefined_correlation_falls_back_to_krum(self):
        result = weigh([0.9, 0.2, 0.3], v=0.2, r=0.2, recipe="adaptive")
        assert (result.gate.branch, result.gate.rho_c) == ("q_only", None)

    def test_the_papers_hole_and_the_guard(self):
        """If every attacker fakes credentials, Stage 1 as printed switches the defence off."""
        q = np.r_[np.full(70, 0.9), np.full(30, 0.1)]
        v = r = np.full(100, 0.8)
        assert weigh(q, v, r, recipe="adaptive").kept.all()
        guarded = compute_sample_weights(Signals.of(q, v, r, label_error_rate=0.3), RECIPES["guarded"])
        np.testing.assert_array_equal(guarded.kept, q > 0.5)

    def test_guard_uses_everything_when_data_and_credentials_agree_that_it_is_clean(self):
        clean = Signals.of([0.9, 0.1], v=0.9, r=0.9, label_error_rate=0.01)
        assert compute_sample_weights(clean, RECIPES["guarded"]).gate.branch == "uniform"

    def test_guard_without_any_credentials_goes_by_the_data(self):
        q = np.linspace(0, 1, 10)
        assert compute_sample_weights(Signals.of(q, label_error_rate=0.0), RECIPES["guarded"]).kept.all()
        noisy = compute_sample_weights(Signals.of(q, label_error_rate=0.4), RECIPES["guarded"])
        assert (noisy.gate.branch, noisy.kept.sum()) == ("q_only", 6)

    def test_guard_keeps_the_papers_share_when_noise_is_unknown(self):
        assert weigh(np.linspace(0, 1, 10), recipe="guarded").kept.sum() == 7

    def test_a_clean_table_with_one_bad_credential_is_not_waved_through(self):
        signals = Signals.of([0.9, 0.8, 0.7, 0.6], v=[0.9, 0.9, 0.9, 0.1], r=0.9, label_error_rate=0.0)
        assert compute_sample_weights(signals, RECIPES["guarded"]).gate.branch != "uniform"


class TestEvidence:
    def test_keeps_what_is_more_likely_right_than_wrong(self):
        signals = Signals.of([0.5] * 4, p_correct=[0.9, 0.51, 0.49, 0.8])
        result = compute_sample_weights(signals, RECIPES["evidence"])
        assert result.kept.tolist() == [True, True, False, True]
        # In full at 0.9, not at all at 0.5: 0.4, 0.01, 0 and 0.3 above it.
        np.testing.assert_allclose(result.w, np.array([0.4, 0.01, 0, 0.3]) / 0.71)
        np.testing.assert_allclose(result.sample_weight(), np.array([0.4, 0.01, 0, 0.3]) * 3 / 0.71)

    def test_keeps_the_likeliest_when_nothing_is_likely(self):
        result = compute_sample_weights(Signals.of([0.5] * 3, p_correct=[0.1, 0.3, 0.2]), RECIPES["evidence"])
        assert result.kept.tolist() == [False, True, False]

    def test_doubt_is_said_and_weighed_by_unless_nothing_is_identified(self):
        signals = Signals.of([0.5] * 3, p_correct=[0.9, 0.3, 0.8])
        doubtful = compute_sample_weights(replace(signals, disputed=0.3), RECIPES["evidence"])
        assert (doubtful.gate.branch, doubtful.gate.reason) == ("disputed", DISPUTE_REASON)
        assert doubtful.kept.tolist() == [True, False, True]
        evenly = compute_sample_weights(replace(signals, disputed=0.3, equal_votes=True), RECIPES["evidence"])
        assert evenly.gate.branch == "disputed"
        assert evenly.kept.all()
        np.testing.assert_allclose(evenly.w, 1 / 3)

    def test_surely_wrong_labels_cannot_be_ranked(self):
        result = compute_sample_weights(Signals.of([0.5] * 2, p_correct=[0.0, 0.0]), RECIPES["evidence"])
        assert (result.gate.branch, result.kept.all()) == ("uniform", True)

    def test_a_share_can_be_asked_for(self):
        recipe = Recipe("evidence", keep=0.25)
        assert (
            compute_sample_weights(Signals.of([0.5] * 4, p_correct=[0.9, 0.6, 0.7, 0.8]), recipe).kept.sum()
            == 1
        )

    def test_needs_more_than_arrays_of_signals(self):
        with pytest.raises(InputError, match=r"needs p_correct.*anml\.audit"):
            weigh([0.5, 0.5], recipe="evidence")


class TestLaws:
    @pytest.mark.parametrize("name", COMBINERS)
    @given(signals=some_signals())
    def test_weights_are_a_distribution_before_freshness(self, name, signals):
        w = compute_sample_weights(signals.only(("q", "v", "r")), Recipe(name)).w
        assert (w >= 0).all()
        assert w.sum() == pytest.approx(1)

    @pytest.mark.parametrize("name", COMBINERS)
    @given(signals=some_signals(), seed=st.integers(0, 99))
    def test_permuting_samples_permutes_the_answer(self, name, signals, seed):
        order = np.random.default_rng(seed).permutation(len(signals))
        names = ("q", "v", "r", "t", "p_correct")
        permuted = Signals.of(**{name: getattr(signals, name)[order] for name in names})
        one, two = (compute_sample_weights(x, Recipe(name)) for x in (signals, permuted))
        np.testing.assert_allclose(two.w, one.w[order], rtol=1e-9, atol=1e-15)

    @pytest.mark.parametrize("name", ["multiplicative", "softmax"])
    @given(q=st.lists(unit, min_size=1, max_size=25))
    def test_without_credentials_the_ranking_is_krums(self, name, q):
        w = weigh(q, v=1.0, r=1.0, t=1.0, recipe=Recipe(name)).w
        order = np.argsort(q, kind="stable")
        assert (np.diff(w[order]) >= -1e-15).all()

    @given(q=st.lists(unit, min_size=1, max_size=25))
    def test_without_credentials_adaptive_is_uniform(self, q):
        np.testing.assert_allclose(weigh(q, v=1.0, r=1.0, recipe="adaptive").w, 1 / len(q))

    @given(signals=some_signals())
    def test_adaptive_equals_its_branch(self, signals):
        result = compute_sample_weights(signals, RECIPES["adaptive"])
        branch = {"uniform": "uniform", "blend": "softmax", "q_only": "krum"}[result.gate.branch]
        expected = compute_sample_weights(signals, RECIPES[branch])
        if branch == "krum":
            expected = compute_sample_weights(signals, Recipe("multiplicative", use=("q", "t")))
        np.testing.assert_array_equal(result.w, expected.w)

    @given(signals=some_signals(min_size=2), raised=unit)
    def test_raising_one_verification_never_lowers_its_softmax_weight(self, signals, raised):
        higher = signals.v.copy()
        higher[0] = max(higher[0], raised)
        before, _ = softmax_blend(signals, Recipe())
        after, _ = softmax_blend(Signals.of(signals.q, higher, signals.r, signals.t), Recipe())
        assert after[0] >= before[0] - 1e-12

    @pytest.mark.parametrize("name", RECIPES)
    @given(signals=some_signals())
    def test_something_is_always_kept_and_kept_outweighs_the_rest(self, name, signals):
        result = compute_sample_weights(signals, RECIPES[name])
        assert result.kept.any()
        ranked = signals.p_correct if name == "evidence" else result.w
        if not result.kept.all():
            assert ranked[result.kept].min() > ranked[~result.kept].max()

    @pytest.mark.parametrize("name", RECIPES)
    def test_recipes_survive_json(self, name):
        assert recipe_of(RECIPES[name].to_dict()) == RECIPES[name]


class TestDegenerate:
    @pytest.mark.parametrize("name", RECIPES)
    def test_one_sample(self, name):
        result = compute_sample_weights(Signals.of([0.3], v=[0.2], r=[0.2], p_correct=[0.3]), RECIPES[name])
        np.testing.assert_allclose(result.w, [1.0])
        assert result.kept.all()

    @pytest.mark.parametrize("name", RECIPES)
    def test_constant_signals(self, name):
        result = compute_sample_weights(Signals.of([0.3] * 5, v=0.2, r=0.2, p_correct=0.3), RECIPES[name])
        np.testing.assert_allclose(result.w, [0.2] * 5)
        assert result.kept.all()

    def test_all_products_zero_is_uniform(self):
        result = weigh([0.5, 0.6], v=0.0, r=0.5, recipe="multiplicative")
        np.testing.assert_allclose(result.w, [0.5, 0.5])
        assert (result.gate.branch, result.kept.tolist()) == ("uniform", [True, True])

    def test_all_fresh_weights_zero_still_draws(self):
        rows = sample_by_weight(np.zeros(3), 50, np.random.default_rng(0))
        assert set(rows) == {0, 1, 2}

    def test_sample_weight_has_mean_one_over_what_is_kept(self):
        result = weigh([0.9, 0.5, 0.1], recipe=Recipe("multiplicative", use=("q",), select="weight"))
        np.testing.assert_allclose(result.sample_weight(), np.array([0.9, 0.5, 0.1]) * 3 / 1.5)
        top = weigh([0.9, 0.5, 0.1], recipe=Recipe("multiplicative", use=("q",), keep=0.6))
        np.testing.assert_array_equal(top.sample_weight(), [1, 1, 0])

    def test_sample_weight_when_freshness_is_zero(self):
        zero = Weighting(np.zeros(2), np.ones(2, bool), weigh([1.0]).gate, Recipe(select="weight"))
        np.testing.assert_array_equal(zero.sample_weight(), [1, 1])

    def test_softmax_of_large_values_is_finite(self):
        np.testing.assert_allclose(softmax(np.array([1.0, 0.0]), 1e-3), [1.0, 0.0], atol=1e-12)


class TestContributorLevel:
    def test_samples_share_their_contributors_quality(self):
        q = np.r_[np.full(50, 0.9), np.full(50, 0.1)]
        contributors = ["good"] * 50 + ["bad"] * 50
        result = weigh(
            q,
            contributor=contributors,
            recipe=Recipe("multiplicative", use=("q",), level="contributor", keep=0.5),
        )
        np.testing.assert_array_equal(result.kept, q > 0.5)

    def test_needs_contributors(self):
        with pytest.raises(InputError, match="contributor level"):
            weigh([0.5, 0.5], recipe=Recipe("multiplicative", level="contributor"))


class TestTrainingLabels:
    """Training labels under the evidence recipe."""

    def signals(self, p, t=None):
        return replace(Signals.of(np.ones(len(p)), t=t), p_correct=np.asarray(p, dtype=float))

    def taught(self, p, y, truth, task="classification", recipe="evidence", t=None, **changes):
        signals = replace(self.signals(p, t), **changes)
        weighting = compute_sample_weights(signals, recipe_of(recipe))
        return training_labels(weighting, signals, np.asarray(y), np.asarray(truth, dtype=float), task)

    def test_a_wrong_class_is_trained_on_as_the_likeliest_as_far_as_that_is_clear(self):
        # 0.9 counts in full, 0.7 by half, 0.4 not at all; weights have a mean of one over what counts.
        truth = [[0.9, 0.1, 0.0], [0.7, 0.3, 0.0], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]]
        result = self.taught([0.9, 0.3, 0.3, 1.0], [0, 1, 0, 2], truth)
        assert result.y.tolist() == [0, 0, 2, 2]
        np.testing.assert_allclose(result.weight, np.array([1, 0.5, 0, 1]) / (2.5 / 3))

    def test_what_is_believed_is_weighed_as_it_was(self):
        p = np.array([0.6, 0.8, 0.95])
        truth = np.column_stack([p, 1 - p])
        result = self.taught(p, [0, 0, 0], truth)
        weighting = compute_sample_weights(self.signals(p), RECIPES["evidence"])
        assert result.y.tolist() == [0, 0, 0]
        np.testing.assert_allclose(result.weight, weighting.sample_weight())

    def test_a_wrong_number_is_trained_on_as_the_mean_of_the_right_one_and_all_by_precision(self):
        # Mean, deviation of the mean, spread of honest numbers: one twice as wide counts a quarter.
        truth = [[5.0, 0.1, 1.0], [7.0, 0.1, 2.0], [9.0, 0.1, 1.0]]
        result = self.taught([1.0, 1.0, 0.0], [5.5, 6.0, 90.0], truth, "regression")
        assert result.y.tolist() == [5.5, 6.0, 9.0]
        np.testing.assert_allclose(result.weight, np.array([1, 0.25, 1]) / 0.75)

    def test_what_is_stale_counts_less_whatever_it_is_trained_on_as(self):
        result = self.taught([1.0, 0.0], [0, 1], [[1.0, 0.0], [1.0, 0.0]], t=[1.0, 0.5])
        np.testing.assert_allclose(result.weight, np.array([1, 0.5]) / 0.75)

    @pytest.mark.parametrize("recipe", ["uniform", "krum", "guarded", {"combine": "evidence", "keep": 0.5}])
    def test_other_recipes_train_on_labels_as_given(self, recipe):
        assert self.taught([1.0, 0.0], [0, 1], np.eye(2), recipe=recipe) is None

    def test_weights_alone_change_no_label(self):
        assert (
            self.taught([1.0, 0.0], [0, 1], np.eye(2), recipe={"combine": "evidence", "select": "weight"})
            is None
        )

    @pytest.mark.parametrize("evenly", [True, False])
    def test_nothing_is_corrected_where_nobody_can_tell_who_is_right(self, evenly):
        assert self.taught([0.9, 0.1], [0, 1], np.eye(2), disputed="two camps", equal_votes=evenly) is None

    @given(st.integers(0, 10_000), st.sampled_from(["classification", "regression"]))
    def test_laws(self, seed, task):
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet(np.full(3, 0.5), 12)
        y = rng.integers(0, 3, 12)
        p = truth[np.arange(12), y]
        if task == "regression":
            y, truth = (
                rng.normal(size=12),
                np.column_stack([rng.normal(size=12), rng.uniform(0.1, 2, (12, 2))]),
            )
        result = self.taught(p, y, truth, task)
        kept = compute_sample_weights(self.signals(p), RECIPES["evidence"]).kept
        assert (result.weight >= 0).all()
        assert result.weight[result.weight > 0].mean() == pytest.approx(1)
        assert (result.y[kept] == y[kept]).all()
        order = rng.permutation(12)
        again = self.taught(p[order], y[order], truth[order], task)
        assert (again.y == result.y[order]).all()
        np.testing.assert_allclose(again.weight, result.weight[order])
