"""Combiners alone: laws that every one of them obeys, and against the formulas written out in loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_signals import signals, unit

from anml.core.types import Recipe, Signals
from anml.weighting.combine import correlation, softmax
from anml.weighting.weigh import COMBINERS


def slow_softmax(values, temperature):
    raised = [math.exp(x / temperature) for x in values]
    return [x / math.fsum(raised) for x in raised]


@pytest.mark.parametrize("name", COMBINERS)
class TestEveryCombiner:
    @given(result=signals())
    def test_weights_are_a_distribution_and_the_gate_says_why(self, name, result):
        w, gate = COMBINERS[name](result, Recipe(name))
        assert w.shape == (len(result),)
        assert (w >= 0).all()
        assert w.sum() == pytest.approx(1)
        assert gate.reason

    @given(result=signals())
    def test_signals_are_not_changed(self, name, result):
        before = [part.copy() for part in (result.q, result.v, result.r, result.t, result.p_correct)]
        COMBINERS[name](result, Recipe(name))
        for now, then in zip((result.q, result.v, result.r, result.t, result.p_correct), before, strict=True):
            np.testing.assert_array_equal(now, then)

    @given(result=signals())
    def test_equal_samples_weigh_the_same(self, name, result):
        n = len(result)
        signals = (np.tile(part, 2) for part in (result.q, result.v, result.r))
        p_correct, rate = np.tile(result.p_correct, 2), result.label_error_rate
        doubled = Signals.of(*signals, label_error_rate=rate, p_correct=p_correct)
        w, _ = COMBINERS[name](doubled, Recipe(name))
        np.testing.assert_allclose(w[:n], w[n:], rtol=1e-9)

    @given(result=signals(min_size=2))
    def test_a_sample_that_is_better_in_everything_weighs_no_less(self, name, result):
        """All credentials move with quality here, so that every gate that opens opens for the better one."""
        order = [np.sort(part) for part in (result.q, result.v, result.r, result.p_correct)]
        ranked = Signals.of(*order[:3], label_error_rate=result.label_error_rate, p_correct=order[3])
        w, _ = COMBINERS[name](ranked, Recipe(name))
        assert (np.diff(w) >= -1e-12).all()

    def test_one_sample_has_all_the_weight(self, name):
        w, _ = COMBINERS[name](Signals.of([0.3], [0.2], [0.9], p_correct=[0.1]), Recipe(name))
        np.testing.assert_allclose(w, [1.0])


class TestByHand:
    def test_a_product_of_three(self):
        # 0.5·0.4·1 = 0.2 and 1·0.8·0.75 = 0.6.
        w, gate = COMBINERS["multiplicative"](Signals.of([0.5, 1], [0.4, 0.8], [1, 0.75]), Recipe())
        np.testing.assert_allclose(w, [0.25, 0.75])
        assert gate.branch == "multiplicative"

    def test_quality_alone_is_called_q_only(self):
        w, gate = COMBINERS["multiplicative"](Signals.of([0.5, 1.0, 0.5]), Recipe())
        np.testing.assert_allclose(w, [0.25, 0.5, 0.25])
        assert gate.branch == "q_only"

    @given(signals(), st.floats(0, 1), st.floats(0.2, 5))
    def test_the_blend_is_the_papers_formula(self, result, alpha, temperature):
        recipe = Recipe("softmax", alpha=alpha, tau_s=temperature)
        w, _ = COMBINERS["softmax"](result, recipe)
        s = [a * b for a, b in zip(result.v, result.r, strict=True)]
        of_q, of_s = slow_softmax(result.q, temperature), slow_softmax(s, temperature)
        expected = [alpha * a + (1 - alpha) * b for a, b in zip(of_q, of_s, strict=True)]
        np.testing.assert_allclose(w, expected, rtol=1e-9)

    @pytest.mark.parametrize(("alpha", "by"), [(1.0, "q"), (0.0, "s")])
    def test_the_ends_of_the_blend_are_one_signal(self, alpha, by):
        result = Signals.of([0.9, 0.1], v=[0.1, 0.9], r=1.0)
        w, _ = COMBINERS["softmax"](result, Recipe("softmax", alpha=alpha))
        np.testing.assert_allclose(w, slow_softmax(getattr(result, by), 1.0))

    def test_a_low_temperature_picks_the_best_and_a_high_one_nobody(self):
        result = Signals.of([0.2, 0.9, 0.4])
        cold, _ = COMBINERS["softmax"](result, Recipe("softmax", alpha=1.0, tau_s=0.01))
        hot, _ = COMBINERS["softmax"](result, Recipe("softmax", alpha=1.0, tau_s=1e6))
        np.testing.assert_allclose(cold, [0, 1, 0], atol=1e-9)
        np.testing.assert_allclose(hot, [1 / 3] * 3, rtol=1e-5)

    def test_evidence_weighs_by_the_probability_alone(self):
        result = Signals.of([0.9, 0.1], v=[0.1, 0.9], r=1.0, p_correct=[0.6, 0.8])
        w, gate = COMBINERS["evidence"](result, Recipe("evidence"))
        np.testing.assert_allclose(w, [1 / 4, 3 / 4])
        assert (gate.label_error_rate, gate.s_min) == (pytest.approx(0.3), pytest.approx(0.1))

    def test_rows_of_whom_nobody_else_covers_count_in_full_or_not_at_all(self):
        result = Signals.of([0.5] * 3, p_correct=[0.6, 0.6, 0.4])
        result = replace(result, no_overlap=np.array([True, False, True]))
        # 1, a quarter and nothing.
        np.testing.assert_allclose(COMBINERS["evidence"](result, Recipe("evidence"))[0], [0.8, 0.2, 0])

    def test_evidence_counts_by_probabilities_where_no_label_is_likelier_right_than_wrong(self):
        result = Signals.of([0.9, 0.1], p_correct=[0.2, 0.4])
        np.testing.assert_allclose(COMBINERS["evidence"](result, Recipe("evidence"))[0], [1 / 3, 2 / 3])


class TestSoftmax:
    @given(st.lists(st.floats(-50, 50), min_size=1, max_size=10), st.floats(-30, 30), st.floats(0.1, 10))
    def test_a_constant_changes_nothing(self, values, shift, temperature):
        x = np.array(values)
        np.testing.assert_allclose(softmax(x + shift, temperature), softmax(x, temperature), atol=1e-9)

    @given(st.lists(unit, min_size=2, max_size=10), st.floats(0.1, 10))
    def test_ratios_are_exponentials_of_differences(self, values, temperature):
        w = softmax(np.array(values), temperature)
        assert w[0] / w[1] == pytest.approx(math.exp((values[0] - values[1]) / temperature))


class TestCorrelation:
    @given(st.lists(st.tuples(unit, unit), min_size=2, max_size=20), st.floats(0.1, 5), st.floats(-2, 2))
    def test_units_do_not_matter_and_signs_do(self, pairs, factor, shift):
        q, s = (np.array(part) for part in zip(*pairs, strict=True))
        assume(np.ptp(q) > 1e-3 and np.ptp(s) > 1e-3)
        rho = correlation(q, s)
        assert correlation(q * factor + shift, s) == pytest.approx(rho, abs=1e-9)
        assert correlation(-q, s) == pytest.approx(-rho, abs=1e-9)
        assert correlation(s, q) == pytest.approx(rho, abs=1e-12)
        assert -1 <= rho <= 1

    @pytest.mark.parametrize("constant", [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5 + 1e-13]])
    def test_what_is_constant_correlates_with_nothing(self, constant):
        assert correlation(np.array(constant), np.array([0.1, 0.2, 0.3])) is None
        assert correlation(np.array([0.1, 0.2, 0.3]), np.array(constant)) is None
