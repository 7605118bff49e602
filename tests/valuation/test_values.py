"""Values: games worked out by hand, the laws that define them, pyDVL on the same game, bad input."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.core.signals.eigentrust import eigentrust
from anml.valuation.agarwal import degraded, next_price, payment, robust_shares
from anml.valuation.banzhaf import banzhaf, exact_banzhaf
from anml.valuation.beta_shapley import beta_shapley, exact_beta_shapley, size_weights
from anml.valuation.games import all_coalitions, evaluate, one_by_one
from anml.valuation.gtg_shapley import gtg_shapley
from anml.valuation.influence import influence
from anml.valuation.kang import contract, kang, opinion
from anml.valuation.regression import shapley_by_regression
from anml.valuation.shapley import exact_shapley, shapley
from anml.valuation.trak import trak
from other_packages import installed, pydvl_methods


def glove(some):
    """One left glove (player 0), two right ones: a pair is worth 1."""
    return np.minimum(some[:, 0], some[:, 1] | some[:, 2]).astype(float)


def airport(some):
    """A runway for planes that need 1, 2, 3 and 10 of it: it costs what the largest needs."""
    needs = np.array([1.0, 2.0, 3.0, 10.0])
    return (some * needs).max(axis=1)


def test_shapley_of_known_games():
    assert shapley(glove, 3).value == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    # Each stretch is shared by those who need it: 1/4, 1/4 + 1/3, ..., + 7.
    share = [1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 1 / 2, 1 / 4 + 1 / 3 + 1 / 2 + 7]
    assert shapley(airport, 4).value == pytest.approx(share)


def test_banzhaf_and_beta_of_the_gloves_by_hand():
    # Player 0 adds 1 to three of the four coalitions of the others, the others to one of four.
    assert banzhaf(glove, 3).value.tolist() == [0.75, 0.25, 0.25]
    # Beta(4, 1) weighs sizes 0, 1, 2 of the others by 10 : 4 : 1 over 15 (two coalitions of size 1).
    assert size_weights(3, 4, 1) == pytest.approx(np.array([10, 8 / 2, 1]) / 15)
    assert beta_shapley(glove, 3).value == pytest.approx([5 / 15, 2 / 15, 2 / 15])


tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=32))
EXACT = {"shapley": exact_shapley, "banzhaf": exact_banzhaf, "beta": exact_beta_shapley}


@given(table=tables)
def test_shapley_is_efficient(table):
    assert exact_shapley(table).sum() == pytest.approx(table[-1] - table[0])


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


@given(table=tables)
def test_banzhaf_is_not_raised_by_splitting(table):
    """A player who splits in two has in total what it had: the game of four, player 3 made of 3 and 4."""
    members = all_coalitions(4)
    merged = np.column_stack([members, members[:, 3]])
    together = table[(merged * 2 ** np.arange(5)).sum(axis=1)]
    assert exact_banzhaf(table)[3:].sum() == pytest.approx(exact_banzhaf(together)[3])


def test_shapley_is_raised_by_copying_and_banzhaf_is_not():
    """The known weakness: two hold what is needed, each alone; a copy of one takes from the other."""

    def either(some):
        return (some[:, 0] | some[:, 1]).astype(float)

    def copied(some):
        return either(np.column_stack([some[:, 0] | some[:, 2], some[:, 1]]))

    assert shapley(either, 2).value.tolist() == [0.5, 0.5]
    assert shapley(copied, 3).value[[0, 2]].sum() == pytest.approx(2 / 3)
    assert banzhaf(either, 2).value.tolist() == [0.5, 0.5]
    assert banzhaf(copied, 3).value[[0, 2]].sum() == pytest.approx(0.5)


def noisy(n, seed=0):
    """A game with diminishing returns: worth is 1 - exp(-sum of talents), with something of each pair."""
    rng = np.random.default_rng(seed)
    talent, pairs = rng.uniform(0, 0.5, n), rng.normal(0, 0.02, (n, n))
    return lambda some: (
        1 - np.exp(-(some @ talent)) + np.einsum("bi,ij,bj->b", some.astype(float), pairs, some)
    )


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
        found = sampled(game, 10, budget=budget, rng=np.random.default_rng(seed))
        assert found.evaluations <= budget
        assert not found.exact
        inside.append((found.low <= truth) & (truth <= found.high))
        errors.append(np.linalg.norm(found.value - truth) / np.linalg.norm(truth))
    assert np.mean(errors) < off
    assert np.mean(inside) > 0.85


def test_sampled_shapley_is_efficient_and_repeatable():
    game = noisy(14)
    for way in (shapley, shapley_by_regression):
        one = way(game, 14, budget=600, rng=np.random.default_rng(3))
        two = way(game, 14, budget=600, rng=np.random.default_rng(3))
        assert one.value.tolist() == two.value.tolist()
        total = game(np.ones((1, 14), dtype=bool))[0] - game(np.zeros((1, 14), dtype=bool))[0]
        assert one.value.sum() == pytest.approx(total)


def test_truncation_saves_evaluations():
    flat = noisy(14)
    plain = shapley(flat, 14, budget=2_000)
    cut = shapley(flat, 14, budget=2_000, tolerance=0.2)
    assert cut.evaluations < plain.evaluations or cut.value == pytest.approx(plain.value, abs=0.2)


# --- other packages ---------------------------------------------------------------------------------------


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


def test_eigentrust_is_pagerank():
    networkx = installed("networkx")
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(12)]
    votes = {(a, b): float(rng.uniform()) for a in names for b in names if a != b and rng.uniform() < 0.4}
    trusted = names[:3]
    start = {name: 1 / 3 if name in trusted else 0.0 for name in names}
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((a, b, w) for (a, b), w in votes.items())
    theirs = networkx.pagerank(graph, alpha=0.85, personalization=start, dangling=start, tol=1e-12)
    assert eigentrust(votes, trusted) == pytest.approx(theirs, abs=1e-9)


# --- gradients --------------------------------------------------------------------------------------------


def test_influence_is_leaving_one_out_of_a_ridge_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + rng.normal(0, 0.5, 2_000)
    held = rng.normal(size=(50, 4))
    wanted = held @ [1.0, -1.5, 0.5, 0.2]

    def fit(rows):
        return np.linalg.solve(x[rows].T @ x[rows], x[rows].T @ y[rows])

    def loss(weights):
        return float(np.square(held @ weights - wanted).mean() / 2)

    full = fit(np.arange(2_000))
    each = (x @ full - y)[:, None] * x
    target = ((held @ full - wanted)[:, None] * held).mean(axis=0)
    found = influence(each, x.T @ x / 2_000, target, damping=0.0)
    left_out = [loss(fit(np.delete(np.arange(2_000), i))) - loss(full) for i in range(100)]
    assert found[:100] == pytest.approx(np.array(left_out), rel=0.05, abs=1e-6)


def test_trak_by_hand_and_over_models():
    one = trak([[[2.0]], [[4.0]]], [[0.5], [0.3]], [[[1.0]], [[1.0]]])
    # 1 * 2 / 4 and 1 * 4 / 16 are averaged, and so is the doubt: 0.375 * 0.4.
    assert one == pytest.approx(np.array([[0.15]]))


# --- contributors -----------------------------------------------------------------------------------------


def test_gtg_is_exact_shapley_where_orders_are_many():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(4, 3))
    aim = updates[:3].mean(axis=0)

    def worth(some):
        return 10 - np.square(some - aim).sum(axis=1)

    def game(members):
        total = members.sum(axis=1, keepdims=True)
        mixed = np.where(total > 0, members @ updates / np.maximum(total, 1), 0.0)
        return worth(mixed)

    found = gtg_shapley(updates, worth, most=2_000)
    truth = exact_shapley(game(all_coalitions(4)))
    assert found.value.sum() == pytest.approx(truth.sum(), abs=0.01)
    assert np.abs(found.value - truth).max() < 0.5 * np.abs(truth).max()


def test_gtg_passes_over_a_round_that_changes_nothing():
    found = gtg_shapley(np.ones((3, 2)), lambda some: np.zeros(len(some)))
    assert found.value.tolist() == [0, 0, 0]
    assert found.evaluations == 2


def test_kang_by_hand():
    belief, disbelief, doubt = opinion([3.0], [1.0], 0.2)
    assert (belief[0], disbelief[0], doubt[0]) == pytest.approx((0.6, 0.2, 0.2))
    assert opinion([0.0], [0.0]).uncertainty[0] == 1
    # Good then bad: 0.8 good, 1 bad that counts twice; (1 - 0.1) * 0.8 / 2.8 + 0.5 * 0.1.
    assert kang([[1.0], [0.0]], [[0.0], [1.0]])[0] == pytest.approx(0.9 * 0.8 / 2.8 + 0.05)


@given(st.lists(st.floats(0.5, 5), min_size=2, max_size=5, unique=True))
def test_every_type_is_best_off_with_its_own_contract(types):
    theta = sorted(types)
    if min(np.diff(theta)) < 1e-3:
        return
    effort, paid = contract(theta, cost=1.0, value=3.0)
    for own, kind in enumerate(theta):
        gain = paid - effort / kind
        assert gain[own] >= gain.max() - 1e-9
        assert gain[own] >= -1e-9
    assert (np.diff(effort) >= -1e-12).all()


@given(st.floats(0.2, 3.0), st.floats(0.1, 2.0), st.floats(0.0, 3.0))
@settings(max_examples=25)
def test_telling_the_truth_is_the_best_bid(worth, price, lie):
    gain = degraded(1.0, price)

    def left(bid):
        return worth * gain(bid) - payment(gain, bid, 400)

    assert left(worth) >= left(lie) - 0.01


def test_prices_and_shares_of_the_marketplace():
    weights, price = next_price([0.0, 1.0], [1.0, 2.0], [0.5, 0.5])
    assert weights == pytest.approx([1 / 2.3, 1.3 / 2.3])
    assert price == pytest.approx(3.6 / 2.3)
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shares = robust_shares(shapley(glove, 3).value, np.eye(3))
    assert shares == pytest.approx(shapley(glove, 3).value)
    assert robust_shares([0.5, 0.5, 1.0], copies).tolist() == [0.25, 0.25, 1.0]


# --- bad input --------------------------------------------------------------------------------------------


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
        (glove, 0, None, "at least one contributor, got 0"),
        (noisy(30), 30, None, "too many to go through"),
        (noisy(30), 30, 10, "a budget of 10 coalitions is too small"),
        (noisy(3), 2.5, None, "must be a whole number"),
    ],
)
def test_bad_games_are_one_sentence(value, utility, count, budget, said):
    with pytest.raises(InputError, match=said) as error:
        value(utility, count, budget=budget)
    assert "\n" not in str(error.value)


def test_a_utility_of_one_coalition_can_be_given():
    found = evaluate(one_by_one(lambda members: float(members.sum())), all_coalitions(3))
    assert found.tolist() == [0, 1, 1, 2, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: influence(np.ones((2, 2)), np.ones((3, 3)), np.ones(2)), "belong together"),
        (lambda: influence(np.ones((2, 2)), np.zeros((2, 2)), np.ones(2), 0.0), "cannot be inverted"),
        (lambda: influence([[np.nan]], [[1.0]], [1.0]), "finite"),
        (lambda: trak(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1, 3))), "belong together"),
        (lambda: trak(np.ones((1, 2, 3)), np.ones((1, 2)), np.ones((1, 1, 3))), "a ridge above 0"),
        (lambda: kang([[1.0]], [[1.0, 2.0]]), "round by round"),
        (lambda: opinion([-1.0], [0.0]), "not negative"),
        (lambda: contract([2.0, 1.0], 1.0, 1.0), "rising order"),
        (lambda: robust_shares([1.0], [[2.0]]), r"numbers in \[0, 1\]"),
        (lambda: payment(lambda bid: -bid, 1.0), "falls with the bid"),
        (lambda: gtg_shapley(np.ones((1, 2)), lambda some: some), "at least 2 clients"),
    ],
)
def test_bad_arguments_are_one_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_all_orders_agree_with_the_definition():
    game = noisy(5)
    total = np.zeros(5)
    for order in itertools.permutations(range(5)):
        members = np.zeros((6, 5), dtype=bool)
        for step, player in enumerate(order):
            members[step + 1 :, player] = True
        total[list(order)] += np.diff(game(members))
    assert shapley(game, 5).value == pytest.approx(total / math.factorial(5))
