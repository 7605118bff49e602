import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError, UnknownNameError
from experiments import scenarios

BAD = np.arange(20_000) < 6_000


def test_high_reliability_has_the_papers_shares_and_ranges():
    v, r = scenarios.draw_credentials(BAD, "high", np.random.default_rng(0))
    honest = ~BAD
    assert (v[honest] >= 0.75).mean() == pytest.approx(0.80, abs=0.01)
    assert (r[honest] >= 0.70).mean() == pytest.approx(0.60, abs=0.01)
    assert v[BAD].min() >= 0.10
    assert v[BAD].max() <= 0.25
    assert r[BAD].min() >= 0.15
    assert r[BAD].max() <= 0.35


def test_moderate_attackers_hold_moderate_credentials_independently():
    v, r = scenarios.draw_credentials(BAD, "moderate", np.random.default_rng(1))
    verified, reputed = v[BAD] >= 0.40, r[BAD] >= 0.40
    assert verified.mean() == pytest.approx(0.20, abs=0.015)
    assert reputed.mean() == pytest.approx(0.25, abs=0.015)
    assert (verified & reputed).mean() == pytest.approx(0.05, abs=0.01)


def test_adversarial_attackers_game_both_credentials_or_none():
    v, r = scenarios.draw_credentials(BAD, "adversarial", np.random.default_rng(2))
    gamed = v[BAD] >= 0.65
    assert gamed.mean() == pytest.approx(0.40, abs=0.015)
    assert (gamed == (r[BAD] >= 0.60)).all()
    # The paper: near-zero or negative correlation with true quality.
    assert np.corrcoef(v * r, ~BAD)[0, 1] < 0.15


def test_all_high_fires_stage_one_when_nobody_attacks():
    v, r = scenarios.draw_credentials(np.zeros(1_000, bool), "all-high", np.random.default_rng(3))
    assert (v * r).min() > 0.35


@given(st.sampled_from(sorted(scenarios.SCENARIOS)), st.integers(0, 2**32), st.integers(1, 50))
def test_every_scenario_draws_credentials_in_the_unit_interval(name, seed, n):
    rng = np.random.default_rng(seed)
    v, r = scenarios.draw_credentials(rng.uniform(size=n) < 0.3, name, rng)
    for credential in (v, r):
        assert credential.shape == (n,)
        assert credential.min() >= 0
        assert credential.max() <= 1


def test_who_games_the_system_obtains_both_credentials_or_none():
    v, r = scenarios.draw_credentials(np.ones(500, bool), "adversarial", np.random.default_rng(0))
    assert ((v > 0.5) == (r > 0.5)).all()


@given(st.floats(0, 1), st.integers(0, 2**32))
def test_faking_changes_bad_contributors_only_and_only_upwards(share, seed):
    rng = np.random.default_rng(seed)
    bad = rng.uniform(size=60) < 0.5
    v, r = scenarios.draw_credentials(bad, "high", rng)
    fake_v, fake_r = scenarios.fake_credentials(v, r, bad, rng, share=share)
    assert (fake_v[~bad] == v[~bad]).all()
    assert (fake_r[~bad] == r[~bad]).all()
    changed = fake_v != v
    assert (changed == (fake_r != r)).all()
    assert (fake_v[changed] >= 0.70).all()


@settings(max_examples=50)
@given(st.floats(-1, 1), st.integers(0, 2**32))
def test_controlled_correlation_is_exact(rho, seed):
    bad = np.arange(90) % 3 == 0
    v, r = scenarios.correlated_credentials(bad, rho, np.random.default_rng(seed))
    s = v * r
    assert np.corrcoef(s, ~bad)[0, 1] == pytest.approx(rho, abs=1e-6)
    assert s.min() == pytest.approx(0.1)
    assert s.max() == pytest.approx(0.4)


def test_correlated_credentials_of_one_kind_of_contributor_are_noise():
    v, r = scenarios.correlated_credentials(np.zeros(50, bool), 0.7, np.random.default_rng(0))
    assert np.ptp(v * r) == pytest.approx(0.3)


def test_tiers_are_dealt_evenly_and_attackers_are_the_bad_ones():
    tier = scenarios.assign_tiers(np.arange(400) < 100, np.random.default_rng(0))
    assert np.bincount(tier).tolist() == [100, 100, 100, 100]
    assert (tier[:100] == 0).all()
    v, r = scenarios.tiered_credentials(tier, np.random.default_rng(1))
    assert v[tier == 3].min() >= 0.80
    assert r[tier == 1].max() <= 0.50


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda rng: scenarios.draw_credentials([True], "hihg", rng),
            UnknownNameError,
            "did you mean 'high'",
        ),
        (lambda rng: scenarios.draw_credentials([1, 0], "high", rng), InputError, "True or False"),
        (lambda rng: scenarios.correlated_credentials([True], 2.0, rng), InputError, "correlation must lie"),
    ],
)
def test_bad_input_is_one_sentence(call, error, says):
    with pytest.raises(error, match=says):
        call(np.random.default_rng(0))


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
class TestEveryScenario:
    def test_credentials_lie_in_the_ranges_it_names(self, name):
        chosen = scenarios.SCENARIOS[name]
        v, r = scenarios.draw_credentials(BAD, name, np.random.default_rng(4))
        for result, honest, bad in ((v, chosen.honest_v, chosen.bad_v), (r, chosen.honest_r, chosen.bad_r)):
            for mine, credential in ((result[~BAD], honest), (result[BAD], bad)):
                inside = np.zeros(len(mine), dtype=bool)
                for low, high in (credential.having, credential.lacking):
                    inside |= (mine >= low) & (mine <= high)
                assert inside.all()

    def test_as_many_have_a_credential_as_it_says(self, name):
        chosen = scenarios.SCENARIOS[name]
        v, _ = scenarios.draw_credentials(BAD, name, np.random.default_rng(5))
        for mine, credential in ((v[~BAD], chosen.honest_v), (v[BAD], chosen.bad_v)):
            if credential.having[0] >= credential.lacking[1]:
                having = (mine >= credential.having[0]).mean()
                assert having == pytest.approx(credential.share, abs=0.02)

    def test_the_same_seed_draws_the_same(self, name):
        one, two = (scenarios.draw_credentials(BAD, name, np.random.default_rng(6)) for _ in range(2))
        np.testing.assert_array_equal(one, two)
