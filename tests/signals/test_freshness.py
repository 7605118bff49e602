"""T: durations, decay and decay across domains."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError, UnknownNameError
from anml.signals.freshness import DOMAINS, RELATIONS, UNITS, ContextDecay, Decay, parse_duration


class TestTemporal:
    def test_the_papers_half_lives(self):
        for name, about in (("mathematics", 700), ("science", 70), ("machine-learning", 7), ("news", 1.4)):
            assert math.log(2) / DOMAINS[name] == pytest.approx(about, rel=0.02)

    def test_half_life_and_rate_agree(self):
        np.testing.assert_allclose(Decay.half_life("7y")([0, 7, 14]), [1, 0.5, 0.25])
        np.testing.assert_allclose(Decay.rate(0.1)([1.0]), math.exp(-0.1))
        np.testing.assert_allclose(Decay.rate(0.001, per="d")([1.0]), math.exp(-0.36525))

    def test_units(self):
        assert parse_duration("365.25d") == pytest.approx(1)
        assert parse_duration("12mo") == pytest.approx(1)
        assert parse_duration("52.1785714w") == pytest.approx(1, rel=1e-4)
        assert parse_duration("24h") == pytest.approx(parse_duration("1d"))
        assert parse_duration("60min") == pytest.approx(parse_duration("3600s"))

    @pytest.mark.parametrize("text", ["7", "y", "7 parsecs", "-7y", "", "seven years"])
    def test_bad_durations(self, text):
        with pytest.raises((InputError, UnknownNameError)):
            parse_duration(text)

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


ages = st.lists(st.floats(0, 200), min_size=1, max_size=10)


@pytest.mark.parametrize("unit_", UNITS)
class TestEveryUnit:
    @given(number=st.integers(1, 10_000))
    def test_durations_scale_with_their_number(self, unit_, number):
        assert parse_duration(f"{number}{unit_}") == pytest.approx(number * parse_duration(f"1{unit_}"))
        assert parse_duration(f" {number} {unit_.upper()} ") == parse_duration(f"{number}{unit_}")

    def test_a_rate_per_unit_decays_by_it_in_one_unit(self, unit_):
        assert Decay.rate(0.5, unit_)([parse_duration(f"1{unit_}")])[0] == pytest.approx(math.exp(-0.5))

    def test_a_half_life_in_the_unit_halves(self, unit_):
        assert Decay.half_life(f"3{unit_}")([parse_duration(f"3{unit_}")])[0] == pytest.approx(0.5)


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_decays_at_its_rate(name):
    assert Decay.domain(name)([1.0])[0] == pytest.approx(math.exp(-DOMAINS[name]))


@given(st.floats(0, 3), ages)
def test_decay_is_a_share_that_begins_at_one(delta, values):
    result = Decay(delta)(values)
    assert ((result >= 0) & (result <= 1)).all()
    assert Decay(delta)([0.0])[0] == 1


@given(st.floats(0, 2), st.floats(0, 50), st.floats(0, 50))
def test_waiting_twice_multiplies(delta, one, other):
    decay = Decay(delta)
    assert decay([one + other])[0] == pytest.approx(decay([one])[0] * decay([other])[0], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("kind", RELATIONS)
class TestEveryRelation:
    @given(values=ages)
    def test_lies_between_its_slowest_and_fastest_part(self, kind, values):
        parts = [Decay(0.01), Decay(0.1), Decay(0.5)]
        result = ContextDecay.between(*parts, kind)(values)
        each = np.array([decay(values) for decay in parts])
        assert (result <= each.max(axis=0) + 1e-12).all()
        assert (result >= each.min(axis=0) - 1e-12).all()

    def test_equal_clocks_are_one_clock(self, kind):
        one = Decay(0.2)
        np.testing.assert_allclose(ContextDecay.between(one, one, one, kind)([3.0, 7.0]), one([3.0, 7.0]))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Decay.domain("poetry"), "unknown domain 'poetry'.*allowed: mathematics"),
        (lambda: Decay.rate(0.1, "fortnight"), "unknown unit of time 'fortnight'"),
        (lambda: Decay(-0.1), "decay rate delta must lie in"),
        (lambda: Decay(float("inf")), "decay rate delta must lie in"),
        (lambda: Decay.half_life(-1.0), "half-life must lie in"),
        (lambda: ContextDecay.between(*[Decay(0.1)] * 3, "hearsay"), "unknown relation 'hearsay'"),
        (lambda: ContextDecay(*[Decay(0.1)] * 3, (1.5, -0.5, 0.0)), "non-negative and sum to one"),
        (lambda: parse_duration("7 light-years"), "a number and a unit such as 7y .*, got '7 light-years'"),
    ],
)
def test_bad_clocks_are_named(make, says):
    with pytest.raises(AnmlError, match=says):
        make()


class TestLearnedFromReuse:
    """Weights of T's parts from how often works of some ages were reused."""

    SLOW, FAST, BETWEEN = Decay(0.01), Decay(0.5), Decay(0.1)

    def learned(self, age, reused, exposure=None, kind="cross-domain-synthesis"):
        return ContextDecay.learned(self.SLOW, self.FAST, self.BETWEEN, kind, age, reused, exposure)

    def test_no_reuse_on_record_leaves_the_weights_of_the_type(self):
        for kind, weights in RELATIONS.items():
            assert self.learned([0.0], [0], kind=kind).weights == pytest.approx(weights)

    def test_expected_counts_of_a_known_mixture_give_it_back(self):
        age = np.linspace(0, 15, 400)
        for weights in ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.3, 0.3, 0.4)):
            true = ContextDecay(self.SLOW, self.FAST, self.BETWEEN, weights)
            result = self.learned(age, 1e4 * true(age))
            np.testing.assert_allclose(result(age), true(age), atol=2e-3)

    @given(st.integers(0, 2**32 - 1), st.integers(1, 60))
    def test_weights_are_weights_and_order_does_not_matter(self, seed, works):
        rng = np.random.default_rng(seed)
        age, reused, exposure = rng.uniform(0, 30, works), rng.poisson(1.5, works), rng.uniform(0.1, 3, works)
        result = self.learned(age, reused, exposure)
        assert min(result.weights) >= 0
        assert sum(result.weights) == pytest.approx(1)
        order = rng.permutation(works)
        again = self.learned(age[order], reused[order], exposure[order])
        np.testing.assert_allclose(result.weights, again.weights, atol=1e-6)

    def test_twice_the_occasions_and_twice_the_reuses_say_the_same(self):
        rng = np.random.default_rng(0)
        age, reused = rng.uniform(0, 15, 300), rng.poisson(1.0, 300)
        one = self.learned(age, reused, np.full(300, 1.0))
        two = self.learned(age, reused, np.full(300, 7.0))
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)

    @pytest.mark.parametrize(
        ("age", "reused", "exposure", "message"),
        [
            ([1.0, 2.0], [1], None, "reused must have a value for each of 2 ages, got 1"),
            ([1.0], [-1], None, "reused must be counts of zero or more"),
            ([1.0], [1], [float("nan")], "exposure must be counts of zero or more"),
            ([1.0], [3], [0.0], "a work without exposure cannot have been reused"),
        ],
    )
    def test_what_cannot_be_counts_is_refused(self, age, reused, exposure, message):
        with pytest.raises(InputError, match=message):
            self.learned(age, reused, exposure)
