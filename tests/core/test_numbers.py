"""Numeric labels: shifted, noisy and careless contributors are seen, honest ones are not convicted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from anml.core.accounts import BINS, bins_of, densities
from anml.core.calibration import reliability
from anml.core.noise import clear_parts, residual_noise, two_parts
from anml.core.numbers import Measure, among_others, measured, weigh_numbers
from anml.core.signals.learned import learned_reputation
from anml.core.ways import beyond_chance, contributor_ways, label_ratios, vouched_for

CONTRIBUTORS, EACH = 20, 20


def contributed(seed=0, contributors=CONTRIBUTORS, each=EACH):
    """Predictions, honest numbers and who gave them."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(contributors), each)
    predicted = rng.normal(size=len(codes))
    return predicted, predicted + rng.normal(0, 0.5, len(codes)), codes, rng


def spoilt(kind, share=0.2, seed=0):
    predicted, values, codes, rng = contributed(seed)
    bad = codes < share * CONTRIBUTORS
    changed = {
        "shifted": values + 1,
        "noisy": values + rng.normal(0, 2, len(values)),
        "other unit": 2.54 * (values + 2) - 2,
        "random": rng.permutation(values),
    }[kind]
    return predicted, np.where(bad, changed, values), codes, bad


class TestMeasured:
    def test_a_constant_is_put_straight(self):
        predicted, values, _, _ = contributed()
        found = measured(values + 3, predicted, np.ones(len(values)))
        np.testing.assert_allclose(found.centre - predicted, 3, atol=0.2)
        # Of a t distribution, so a little narrower than the standard deviation.
        assert 0.35 < np.median(found.spread) < 0.5

    def test_two_in_five_far_off_do_not_move_it(self):
        predicted, values, _, _ = contributed()
        values[::5] += 50
        values[1::5] += 50
        found = measured(values, predicted, np.ones(len(values)))
        assert np.abs(found.centre - predicted).max() < 0.5

    def test_a_timid_prediction_is_made_bolder(self):
        predicted, values, _, _ = contributed()
        found = measured(values, predicted / 2, np.ones(len(values)))
        slope = np.polyfit(predicted, found.centre, 1)[0]
        assert slope == pytest.approx(1, abs=0.1)

    def test_spread_may_grow_along_predictions(self):
        predicted, _, _, rng = contributed(each=200)
        values = predicted + np.exp(0.5 * predicted) * rng.normal(size=len(predicted))
        found = measured(values, predicted, np.ones(len(values)))
        assert np.polyfit(predicted, np.log(found.spread), 1)[0] == pytest.approx(0.5, abs=0.1)

    @pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [5.0], [0.0] * 9 + [1.0]])
    def test_without_any_scatter_it_stays_finite(self, values):
        found = measured(np.array(values), np.zeros(len(values)), np.ones(len(values)))
        assert np.isfinite(found.centre).all()
        assert (found.spread > 0).all()


class TestAmongOthers:
    def test_by_hand(self):
        """Two items with labels 1 and -1: all of the variance is within items, and 0.05 is left to know.

        Others weigh 0.99 against 1 / 0.05, so -0.99 / 20.99 is expected, with variance 1 + 1 / 20.99.
        """
        values = np.array([1.0, -1.0, 1.0, -1.0])
        plain = Measure(np.zeros(4), np.ones(4))
        found = among_others(values, plain, np.ones(4), None, np.array([0, 0, 1, 1]))
        np.testing.assert_allclose(found.centre, -values * 0.99 / 20.99)
        np.testing.assert_allclose(found.spread, np.sqrt(1 + 1 / 20.99))

    def test_an_item_of_one_label_keeps_its_prediction(self):
        values = np.array([1.0, -1.0, 0.5, 0.4])
        plain = Measure(np.zeros(4), np.ones(4))
        found = among_others(values, plain, np.ones(4), None, np.array([0, 1, 2, 2]))
        np.testing.assert_allclose(found.centre[:2], 0)

    def test_nobody_confirms_himself(self):
        rng = np.random.default_rng(0)
        values, items = rng.normal(size=60), np.repeat(np.arange(20), 3)
        codes = np.tile([0, 0, 1], 20)
        plain = Measure(np.zeros(60), np.ones(60))
        before = among_others(values, plain, np.ones(60), codes, items)
        expected = among_others(values, plain, np.ones(60), None, items)
        # The first two labels of an item are one contributor's: only the third speaks for them.
        np.testing.assert_allclose(before.centre[0::3], before.centre[1::3])
        assert np.abs(before.centre[2::3] - expected.centre[2::3]).max() < 1e-12

    def test_who_is_not_trusted_says_nothing(self):
        rng = np.random.default_rng(1)
        values, items = rng.normal(size=60), np.repeat(np.arange(20), 3)
        trust = np.tile([1.0, 1.0, 0.0], 20)
        plain = Measure(np.zeros(60), np.ones(60))
        before = among_others(values, plain, trust, None, items).centre
        values[2::3] += 1000
        after = among_others(values, plain, trust, None, items).centre
        np.testing.assert_allclose(before, after)


class TestWays:
    def test_a_label_is_weighed_without_itself(self):
        predicted, values, codes, _ = spoilt("shifted")
        off, apart = (values - predicted) / 0.5, values / 0.5
        found = contributor_ways(off, apart, codes)
        ratio = label_ratios(found, off, apart, codes)
        account = found.judged.account
        table = densities(account.tails)
        for row in (0, 399):
            rest = np.flatnonzero((codes == codes[row]) & (np.arange(len(codes)) != row))
            first, second = (bins_of(part[rest]) for part in (off, apart))
            total = table[first].sum(axis=0) + table[BINS + second].sum(axis=0)
            odds = special.logsumexp(total + account.honest) - special.logsumexp(total + account.other)
            assert ratio[row] == pytest.approx(found.judged.odds[codes[row]] - odds, abs=1e-6)

    def test_chance_is_not_clear(self):
        predicted, values, codes, _ = spoilt("shifted")
        off, apart = (values - predicted) / 0.5, values / 0.5
        assert beyond_chance(contributor_ways(off, apart, codes), off, apart, codes)
        dealt = np.random.default_rng(5).permutation(codes)
        assert not beyond_chance(contributor_ways(off, apart, dealt), off, apart, dealt)

    def test_credentials_help_where_numbers_alone_say_little(self):
        """Few numbers each, a little noisier; credentials say who they are."""
        rng = np.random.default_rng(2)
        codes = np.repeat(np.arange(60), 5)
        bad = codes < 20
        off = rng.normal(size=300) * np.where(bad, 1.8, 1.0)
        apart = 2 * rng.normal(size=300)
        credentials = np.clip(0.7 - 0.4 * bad + rng.normal(0, 0.1, 300), 0, 1)[:, None]
        alone, told = (contributor_ways(off, apart, codes, known).honest for known in (None, credentials))
        assert told[:20].mean() < alone[:20].mean() - 0.1
        assert told[20:].mean() > alone[20:].mean()

    def test_credentials_accuse_only_those_who_have_the_worse(self):
        credentials = np.array([[0.9, 0.5], [0.2, 0.5]])
        assert vouched_for(credentials, np.array([0.9, 0.1]))
        assert not vouched_for(credentials, np.array([0.1, 0.9]))

    def test_more_precise_is_not_otherwise(self):
        predicted, values, codes, _ = contributed()
        precise = np.where(codes == 0, predicted + 0.1 * (values - predicted), values)
        assert (weigh_numbers(precise, predicted, None, codes).clean > 0.5).all()


class TestWhoIsBelieved:
    @pytest.mark.parametrize("kind", ["shifted", "noisy", "other unit", "random"])
    @pytest.mark.parametrize("share", [0.2, 0.4])
    def test_bad_contributors_are_seen_and_honest_ones_kept(self, kind, share):
        predicted, values, codes, bad = spoilt(kind, share)
        found = weigh_numbers(values, predicted, None, codes)
        assert (found.clean > 0.5)[~bad].mean() > 0.99
        assert (found.clean > 0.5)[bad].mean() < 0.05
        assert reliability(found.clean, ~bad).error < 0.02
        assert found.effect[: int(share * 20)].max() < found.effect[int(share * 20) :].min()
        assert np.isfinite(found.doubt).all()
        assert (found.doubt > 0).all()

    @pytest.mark.parametrize("bad", [4, 8])
    def test_a_unit_a_thousand_times_smaller(self, bad):
        predicted, values, codes, _ = contributed()
        values = np.where(codes < bad, 1000 * (values + 3), values)
        found = weigh_numbers(values, predicted, None, codes)
        assert (found.clean > 0.5).tolist() == (codes >= bad).tolist()

    @pytest.mark.parametrize("seed", range(4))
    def test_nothing_wrong_believes_everything(self, seed):
        predicted, values, codes, rng = contributed(seed)
        found = weigh_numbers(values, predicted, rng.uniform(size=(len(values), 2)), codes)
        assert found.clean.min() > 0.999
        assert (found.effect == 0).all()

    @pytest.mark.parametrize("shape", ["heavy", "lopsided", "grows"])
    def test_honest_numbers_of_any_shape_are_believed(self, shape):
        predicted, _, codes, rng = contributed(3)
        error = {
            "heavy": rng.standard_t(3, len(codes)),
            "lopsided": rng.gamma(2, 1, len(codes)) - 2,
            "grows": rng.normal(size=len(codes)) * np.exp(0.5 * predicted),
        }[shape]
        assert weigh_numbers(predicted + error, predicted, None, codes).clean.min() > 0.999

    @pytest.mark.parametrize("differ", [0.0, 0.3, 0.6])
    @pytest.mark.parametrize(("hospitals", "patients"), [(4, 75), (40, 20)])
    def test_hospitals_that_differ_are_believed(self, differ, hospitals, patients):
        """Other patients, and predictions that are off by a little for each hospital."""
        predicted, values, codes, rng = contributed(1, hospitals, patients)
        place = rng.normal(0, 1, hospitals)[codes]
        values = values + place + rng.normal(0, 0.5 * differ, hospitals)[codes]
        assert weigh_numbers(values, predicted + place, None, codes).clean.min() > 0.5

    def test_one_wild_label_does_not_convict(self):
        predicted, values, codes, _ = contributed()
        values[0] += 40
        found = weigh_numbers(values, predicted, None, codes)
        assert (found.clean[1:EACH] > 0.5).all()

    def test_few_rows_do_not_convict(self):
        """The same bias: of two rows nothing is said, of forty it is."""
        predicted, values, codes, _ = contributed(each=40)
        values = np.where((codes == 0) | (codes == 1), values + 0.9, values)
        keep = (codes != 0) | (np.arange(len(codes)) < 2)
        found = weigh_numbers(values[keep], predicted[keep], None, codes[keep])
        assert found.clean[codes[keep] == 0].min() > 0.5
        assert found.clean[codes[keep] == 1].max() < 0.5

    def test_parts_add_up_and_reputation_follows(self):
        predicted, values, codes, _ = spoilt("shifted")
        signals = np.random.default_rng(1).uniform(size=(len(values), 2))
        found = weigh_numbers(values, predicted, signals, codes)
        logit = found.base + found.credentials + found.contributor
        np.testing.assert_allclose(found.expected, special.expit(logit), atol=1e-8)
        np.testing.assert_allclose(found.clean, special.expit(logit + found.model), atol=1e-8)
        learned = learned_reputation(found.model, codes)
        assert learned.r[:4].max() < 0.5 < learned.r[4:].min()

    def test_other_labels_of_the_item_count(self):
        """Predictions know nothing, but three others measured the same thing."""
        rng = np.random.default_rng(0)
        items = np.repeat(np.arange(150), 4)
        codes = np.argsort(rng.uniform(size=(150, 12)), axis=1)[:, :4].ravel()
        truth = rng.normal(0, 3, 150)[items]
        bad = codes < 3
        values = truth + rng.normal(0, 0.3, 600) + 1.0 * bad
        alone = weigh_numbers(values, np.zeros(600), None, codes)
        together = weigh_numbers(values, np.zeros(600), None, codes, items)
        assert (alone.clean > 0.5)[bad].mean() > 0.9
        assert (together.clean > 0.5)[bad].mean() < 0.05
        assert (together.clean > 0.5)[~bad].mean() > 0.98

    def test_without_contributors_far_labels_and_credentials_tell(self):
        predicted, values, _, rng = contributed()
        bad = rng.uniform(size=len(values)) < 0.2
        values = np.where(bad, values + 5, values)
        found = weigh_numbers(values, predicted, None, None)
        assert (found.clean < 0.5).tolist() == bad.tolist()
        assert len(found.effect) == 0


class TestLaws:
    @given(st.integers(-20, 20), st.sampled_from(["shifted", "noisy"]))
    @settings(max_examples=10, deadline=None)
    def test_units_of_all_numbers_do_not_matter(self, power, kind):
        predicted, values, codes, _ = spoilt(kind)
        factor = 2.0**power
        one = weigh_numbers(values, predicted, None, codes).clean
        other = weigh_numbers(factor * values, factor * predicted, None, codes).clean
        np.testing.assert_allclose(one, other, atol=1e-6)

    @given(
        st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
        st.integers(1, 5),
        st.booleans(),
        st.booleans(),
    )
    @settings(max_examples=40, deadline=None)
    def test_any_numbers_give_probabilities(self, values, contributors, shared, known):
        n = len(values)
        codes = np.arange(n) % contributors
        items = np.arange(n) // 2 if shared else None
        signals = np.linspace(0, 1, n)[:, None] if known and n > 1 else None
        predicted = np.roll(np.array(values), 1)
        found = weigh_numbers(np.array(values), predicted, signals, codes, items)
        for part in (found.clean, found.expected):
            assert ((part >= 0) & (part <= 1)).all()
        assert np.isfinite(found.model).all()
        assert np.isfinite(found.contributor).all()

    @pytest.mark.parametrize("shape", ["normal", "laplace", "t"])
    @pytest.mark.parametrize("n", [20, 300, 2_000])
    def test_one_part_of_any_shape_is_no_wrong_label(self, shape, n):
        rng = np.random.default_rng(n)
        drawn = {"normal": rng.normal, "laplace": rng.laplace, "t": lambda size: rng.standard_t(3, size)}
        assert residual_noise(drawn[shape](size=n)).rate == 0

    def test_trust_counts_as_rows_do(self):
        rng = np.random.default_rng(0)
        x = np.r_[rng.normal(size=300), rng.normal(8, 1, 60)]
        twice = two_parts(np.repeat(x, 2))
        weighted = two_parts(x, np.full(360, 2.0))
        assert weighted.rate == pytest.approx(twice.rate, abs=1e-3)
        assert weighted.gain == pytest.approx(twice.gain, rel=0.02)
        assert clear_parts(weighted, 720)
