"""Values: games worked out by hand, the laws that define them, pyDVL on the same game, bad input."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.games import all_coalitions
from anml.attribution.semivalues import (
    banzhaf,
    beta_shapley,
    exact_banzhaf,
    exact_beta_shapley,
    exact_shapley,
)
from anml.attribution.semivalues import shapley as shapley_by_regression
from anml.core.errors import InputError
from experiments.valuation.agarwal import robust_shares
from experiments.valuation.data_shapley import shapley
from experiments.valuation.gtg_shapley import gtg_shapley
from experiments.valuation.influence import influence, trak
from experiments.valuation.kang import kang
from other_packages import pydvl_methods
from small_games import glove, noisy

tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=32))
EXACT = {"shapley": exact_shapley, "banzhaf": exact_banzhaf, "beta": exact_beta_shapley}


@pytest.mark.parametrize("value", EXACT.values(), ids=EXACT)
@given(table=tables, order=st.permutations(range(5)))
def test_symmetry_and_null_player_and_linearity(value, table, order):
    members = all_coalitions(5)
    place = (members[:, order] * 2 ** np.arange(5)).sum(axis=1)
    assert value(table[place]) == pytest.approx(_permuted(value, table, order))
    null = table[(members[:, :4] * 2 ** np.arange(4)).sum(axis=1)]
    assert value(null)[4] == pytest.approx(0)
    assert value(3 * table + null) == pytest.approx(3 * value(table) + value(null))


def _permuted(value, table, order):
    """Values of players who changed places: player i of the new game is where `order` put it."""
    found = value(table)
    result = np.empty(5)
    for new in range(5):
        result[new] = found[order.index(new)]
    return result


@pytest.mark.parametrize(
    ("sampled", "exact", "budget", "off"),
    [(shapley, exact_shapley, 900, 0.05), (shapley_by_regression, exact_shapley, 500, 0.02),
     (banzhaf, exact_banzhaf, 900, 0.15), (beta_shapley, exact_beta_shapley, 1_000, 0.15)],
)  # fmt: skip
def test_sampling_comes_near_and_says_how_near(sampled, exact, budget, off):
    game = noisy(10)
    truth = exact(game(all_coalitions(10)))
    inside, errors = [], []
    for seed in range(8):
        found = sampled(game, 10, n_evaluations=budget, random_state=seed)
        assert found.evaluations <= budget
        assert not found.exact
        inside.append((found.low <= truth) & (truth <= found.high))
        errors.append(np.linalg.norm(found.value - truth) / np.linalg.norm(truth))
    assert np.mean(errors) < off
    assert np.mean(inside) > 0.85


def test_as_pydvl():
    package = pydvl_methods()
    from pydvl.valuation.utility.base import UtilityBase

    n, game = 6, noisy(6)

    class Worth(UtilityBase):
        def __call__(self, sample):
            members = np.zeros((1, n), dtype=bool)
            if sample is not None and len(sample.subset):
                members[0, np.asarray(sample.subset, dtype=int)] = True
            return float(game(members)[0])

    data = package.Dataset(np.zeros((n, 1)), np.zeros(n, dtype=int))
    every = package.MinUpdates(2 ** (n - 1))
    for method, ours in ((package.ShapleyValuation, shapley), (package.BanzhafValuation, banzhaf)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = method(
                Worth(), package.DeterministicUniformSampler(), is_done=every, progress=False
            ).fit(data)
        values = np.array(theirs.result.values)[np.argsort(theirs.result.indices)]
        assert values == pytest.approx(ours(game, n).value, rel=1e-6)


@pytest.mark.parametrize("value", [shapley, banzhaf, beta_shapley, shapley_by_regression])
@pytest.mark.parametrize(
    ("utility", "count", "budget", "said"),
    [
        (
            lambda some: np.full(len(some), np.nan),
            3,
            None,
            r"the utility of coalition \[\] is not a finite number",
        ),
        (lambda some: 1 / 0, 3, None, "the utility failed: ZeroDivisionError: division by zero"),
        (lambda some: np.zeros(1), 3, None, "one number per coalition: 8 expected"),
        (glove, 0, None, "must be at least 1, got 0"),
        (noisy(30), 30, None, "too many to go through"),
        (noisy(30), 30, 10, "a budget of 10 coalitions is too small"),
        (noisy(3), 2.5, None, "must be a whole number"),
    ],
)
def test_bad_games_are_one_sentence(value, utility, count, budget, said):
    with pytest.raises(InputError, match=said) as error:
        value(utility, count, n_evaluations=budget)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: influence(np.ones((2, 2)), np.ones((3, 3)), np.ones(2)), "belong together"),
        (lambda: influence(np.ones((2, 2)), np.zeros((2, 2)), np.ones(2), 0.0), "cannot be inverted"),
        (lambda: influence([[np.nan]], [[1.0]], [1.0]), "finite"),
        (lambda: trak(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1, 3))), "belong together"),
        (lambda: trak(np.ones((1, 2, 3)), np.ones((1, 2)), np.ones((1, 1, 3))), "a ridge above 0"),
        (lambda: kang([[1.0]], [[1.0, 2.0]]), "round by round"),
        (lambda: kang([[-1.0]], [[0.0]]), "not negative"),
        (lambda: robust_shares([1.0], [[2.0]]), r"numbers in \[0, 1\]"),
        (lambda: gtg_shapley(np.ones((1, 2)), lambda some: some), "at least 2 clients"),
    ],
)
def test_bad_arguments_are_one_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call()
