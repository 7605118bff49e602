"""The four signals: numbers worked out by hand, then what happens with bad ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.domain import Signals
from anml.core.errors import InputError, UnknownNameError
from anml.core.signals.levels import level_values
from anml.core.signals.quality import neighbours, quality
from anml.core.signals.reputation import REPUTATION, ColdStart, prior_counts
from anml.core.signals.temporal import DOMAINS, RELATIONS, ContextDecay, Decay, years
from anml.core.signals.verification import VERIFICATION

scores = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


class TestQuality:
    def test_by_hand(self):
        np.testing.assert_allclose(quality(np.array([2.0, 4.0, 10.0])), [1.0, 0.75, 0.0])

    def test_constant_scores_mean_nothing_stands_out(self):
        np.testing.assert_array_equal(quality(np.array([7.0, 7.0, 7.0])), [1, 1, 1])

    def test_one_sample(self):
        np.testing.assert_array_equal(quality(np.array([7.0])), [1])

    def test_huge_scores_do_not_overflow(self):
        np.testing.assert_allclose(quality(np.array([-1.7e308, 0.0, 1.7e308])), [1.0, 0.5, 0.0])

    @given(scores)
    def test_lies_in_unit_interval_and_reverses_order(self, raw):
        raw = np.array(raw)
        q = quality(raw)
        assert ((q >= 0) & (q <= 1)).all()
        order = np.argsort(raw, kind="stable")
        assert (np.diff(q[order]) <= 1e-12).all()

    @pytest.mark.parametrize("raw", [[np.nan, 1.0], [np.inf, 1.0], [], ["a"]])
    def test_bad_scores_are_refused(self, raw):
        with pytest.raises(InputError, match="raw score"):
            quality(np.array(raw))

    def test_neighbours(self):
        assert neighbours(124) == 10
        assert neighbours(4) == 3
        assert neighbours(1) == 0
        assert neighbours(100, k=None, malicious=0.3) == 100 - 30 - 2
        assert neighbours(100, k=None, malicious=12) == 86

    @pytest.mark.parametrize(("k", "malicious"), [(0, None), (None, None), (None, 0.5), (None, -1)])
    def test_impossible_neighbours_are_refused(self, k, malicious):
        with pytest.raises(InputError):
            neighbours(100, k, malicious)


class TestLevels:
    def test_defaults_lie_in_the_papers_ranges(self):
        for table in (VERIFICATION, REPUTATION):
            for level in table.values():
                assert level.low <= level.default <= level.high

    def test_the_papers_tables(self):
        assert VERIFICATION["peer-reviewed"][:2] == (0.80, 0.90)
        assert VERIFICATION["institution"][:2] == (0.60, 0.70)
        assert VERIFICATION["self-attested"][:2] == (0.20, 0.30)
        assert VERIFICATION["reproduced"][:2] == (0.90, 0.95)
        assert VERIFICATION["flagged"][:2] == (0.05, 0.10)
        assert REPUTATION["new"][:2] == (0.30, 0.50)
        assert REPUTATION["established"][:2] == (0.70, 0.90)
        assert REPUTATION["top"][:2] == (0.90, 0.95)
        assert REPUTATION["poor"][:2] == (0.10, 0.30)

    def test_names_and_numbers_mix(self):
        found = level_values("verification", ["Peer Reviewed", 0.5, "0.1", "FLAGGED", 1], VERIFICATION)
        np.testing.assert_allclose(found, [0.85, 0.5, 0.1, 0.07, 1.0])

    def test_unknown_name_lists_the_allowed_ones(self):
        with pytest.raises(
            UnknownNameError, match=r"peer-reviewd.*did you mean 'peer-reviewed'.*allowed: flagged"
        ):
            level_values("verification", ["peer-reviewd"], VERIFICATION)

    @pytest.mark.parametrize("value", [1.5, -0.1, "2"])
    def test_numbers_outside_are_refused(self, value):
        with pytest.raises(InputError, match=r"lie in \[0, 1\]"):
            level_values("verification", [value], VERIFICATION)

    def test_missing_needs_a_stand_in(self):
        with pytest.raises(InputError, match="missing at position 1"):
            level_values("verification", [0.5, None], VERIFICATION)
        np.testing.assert_allclose(level_values("verification", [0.5, None], VERIFICATION, 0.25), [0.5, 0.25])


class TestColdStart:
    def test_floor_holds_for_the_first_ten(self):
        r = ColdStart().apply(np.full(12, 0.1), np.arange(12))
        np.testing.assert_array_equal(r, [0.4] * 10 + [0.1] * 2)

    def test_never_lowers_and_both_knobs_turn(self):
        np.testing.assert_array_equal(ColdStart(0.6, 1).apply([0.9, 0.2, 0.2], [0, 0, 1]), [0.9, 0.6, 0.2])
        np.testing.assert_array_equal(ColdStart(0.6, 0).apply([0.2], [0]), [0.2])

    def test_void_when_flagged(self):
        np.testing.assert_array_equal(
            ColdStart().apply([0.1, 0.1], [0, 0], np.array([True, False])), [0.1, 0.4]
        )

    def test_floor_alone_never_opens_stage_one_for_self_attested_data(self):
        assert 0.4 * VERIFICATION["self-attested"].high < 0.35

    def test_prior_counts_follow_time(self):
        codes = np.array([0, 0, 1, 0])
        np.testing.assert_array_equal(prior_counts(codes), [0, 1, 0, 2])
        np.testing.assert_array_equal(prior_counts(codes, np.array([3.0, 1.0, 0.0, 2.0])), [2, 0, 0, 1])

    @pytest.mark.parametrize("knobs", [(1.5, 10), (-0.1, 10), (0.4, -1)])
    def test_bad_knobs(self, knobs):
        with pytest.raises(InputError):
            ColdStart(*knobs)


class TestTemporal:
    def test_the_papers_half_lives(self):
        for name, about in (("mathematics", 700), ("science", 70), ("machine-learning", 7), ("news", 1.4)):
            assert math.log(2) / DOMAINS[name] == pytest.approx(about, rel=0.02)

    def test_half_life_and_rate_agree(self):
        np.testing.assert_allclose(Decay.half_life("7y")([0, 7, 14]), [1, 0.5, 0.25])
        np.testing.assert_allclose(Decay.rate(0.1)([1.0]), math.exp(-0.1))
        np.testing.assert_allclose(Decay.rate(0.001, per="d")([1.0]), math.exp(-0.36525))

    def test_units(self):
        assert years("365.25d") == pytest.approx(1)
        assert years("12mo") == pytest.approx(1)
        assert years("52.1785714w") == pytest.approx(1, rel=1e-4)
        assert years("24h") == pytest.approx(years("1d"))
        assert years("60min") == pytest.approx(years("3600s"))

    @pytest.mark.parametrize("text", ["7", "y", "7 parsecs", "-7y", "", "seven years"])
    def test_bad_durations(self, text):
        with pytest.raises((InputError, UnknownNameError)):
            years(text)

    def test_zero_half_life_is_refused(self):
        with pytest.raises(InputError, match="half-life"):
            Decay.half_life("0y")

    def test_negative_age_is_refused(self):
        with pytest.raises(InputError, match="negative"):
            Decay(0.1)([-1.0])

    def test_relation_weights_sum_to_one(self):
        for weights in RELATIONS.values():
            assert sum(weights) == pytest.approx(1)
        with pytest.raises(InputError, match="sum to one"):
            ContextDecay(Decay(0.1), Decay(0.1), Decay(0.1), (0.5, 0.5, 0.5))

    def test_context_by_hand(self):
        context = ContextDecay(Decay(0.0), Decay(0.1), Decay(0.5), (0.5, 0.3, 0.2))
        expected = 0.5 + 0.3 * math.exp(-1) + 0.2 * math.exp(-5)
        np.testing.assert_allclose(context([10.0]), expected)

    def test_foundational_work_keeps_more_credit_than_direct_application(self):
        slow, fast = Decay.domain("mathematics"), Decay.domain("news")
        kept = {kind: ContextDecay.between(slow, fast, fast, kind)([20.0])[0] for kind in RELATIONS}
        assert kept["foundational-extension"] > kept["cross-domain-synthesis"] > kept["direct-application"]

    @given(st.floats(0, 5), st.lists(st.floats(0, 1e3), min_size=2, max_size=10))
    def test_fresher_is_never_worth_less(self, delta, ages):
        ages = np.sort(ages)
        assert (np.diff(Decay(delta)(ages)) <= 0).all()


class TestSignals:
    def test_external_signal_is_the_product(self):
        np.testing.assert_allclose(Signals.of([1, 1], v=[0.5, 1], r=[0.5, 0.2]).s, [0.25, 0.2])

    def test_one_number_for_all(self):
        np.testing.assert_array_equal(Signals.of([0.1, 0.2], v=0.5).v, [0.5, 0.5])

    def test_remembers_what_was_given(self):
        signals = Signals.of([1.0], v=[1.0])
        assert signals.given == {"q", "v"}
        assert signals.only(("q",)).given == {"q"}

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"q": [0.5, 1.5]}, r"q must lie in \[0, 1\], got 1.5 at position 1"),
            ({"q": [0.5, np.nan]}, "q has 1 missing"),
            ({"q": []}, "empty"),
            ({"q": [0.5, 0.5], "v": [0.5]}, "v has 1 values for 2 samples"),
            ({"q": [0.5], "r": ["x"]}, "r must be numbers"),
            ({"q": [[0.5]]}, "one value per sample"),
            ({"q": [0.5, 0.5], "contributor": ["a"]}, "contributor has shape"),
        ],
    )
    def test_bad_input_is_named(self, bad, message):
        with pytest.raises(InputError, match=message):
            Signals.of(**bad)
