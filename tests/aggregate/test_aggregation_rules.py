"""Rules of aggregation: numbers worked out by hand, laws, other packages on the same input, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anml.aggregate.agreement import geometric_median
from anml.aggregate.believed import believed, honest, remembered
from anml.aggregate.bulyan import bulyan
from anml.aggregate.fltrust import fltrust
from anml.aggregate.krum import krum
from anml.aggregate.mean import mean
from anml.aggregate.median import median
from anml.aggregate.multi_krum import multi_krum
from anml.aggregate.recess import abnormality, recess
from anml.aggregate.rules import RULES, STANDS
from anml.aggregate.trimmed_mean import trimmed_mean
from anml.aggregate.updates import norms, sketched, squared_distances
from anml.aggregate.weighted import weighted
from anml.core.errors import InputError
from other_packages import byzfl_aggregators, installed

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])
F = 2


def run(name, updates, f=F):
    """Any rule with what it needs."""
    if name in STANDS:
        return RULES[name](updates, malicious=min(f, STANDS[name](len(updates))))
    if name == "fltrust":
        return RULES[name](updates, server=np.ones(np.asarray(updates).shape[1]))
    if name == "recess":
        return RULES[name](updates, abnormal=np.zeros(len(updates)))
    return RULES[name](updates)


def test_krum_by_hand():
    found = krum(LINE, malicious=1)
    # n - f - 2 = 2 nearest: 0 has 1 + 4, 1 has 1 + 1, 2 has 1 + 1, 3 has 1 + 4, 90 has 87^2 + 88^2.
    assert found.scores == pytest.approx([-5.0, -2.0, -2.0, -5.0, -(87.0**2 + 88.0**2)])
    assert found.update.tolist() == [1.0]
    assert found.weights.tolist() == [0, 1, 0, 0, 0]


def test_multi_krum_by_hand():
    found = multi_krum(LINE, malicious=1, keep=2)
    assert found.update.tolist() == [1.5]
    assert found.weights.tolist() == [0, 0.5, 0.5, 0, 0]


def test_median_and_trimmed_mean_by_hand():
    assert median(LINE).update.tolist() == [2.0]
    assert median(LINE[:4]).update.tolist() == [1.5]
    found = trimmed_mean(LINE, malicious=1)
    assert found.update.tolist() == [2.0]
    assert found.scores.tolist() == [0, 1, 1, 1, 0]


def test_bulyan_by_hand():
    # Krum with 4, then 3, 2, 1 neighbours, each winner taken out: of 0..6, 90, chosen are 3, 2, 1, 0, 4.
    updates = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [90.0]])
    found = bulyan(updates, malicious=1)
    assert (found.scores > 0).sum() == 5
    assert found.scores[6] == 0
    chosen = np.sort(updates[found.scores > 0].ravel())
    middle = np.median(chosen)
    nearest = chosen[np.argsort(np.abs(chosen - middle), kind="stable")[:3]]
    assert found.update[0] == pytest.approx(nearest.mean())


def test_fltrust_by_hand():
    found = fltrust([[3.0, 4.0], [-1.0, 0.0]], server=[1.0, 0.0])
    # cos = 3/5; the update at the server's length is (0.6, 0.8); the other points away and has no say.
    assert found.scores.tolist() == [0.6, 0.0]
    assert found.update == pytest.approx([0.6, 0.8])


def test_recess_by_hand():
    # Both replies have length 2, the median: minus the cosine remains.
    away = abnormality([[1.0, 0.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]])
    assert away.tolist() == [-1.0, 0.0]
    found = recess([[1.0], [3.0]], abnormal=np.log([1.0, 3.0]))
    # Softmax of (0, -ln 3) is (3/4, 1/4).
    assert found.weights == pytest.approx([0.75, 0.25])
    assert found.update == pytest.approx([1.5])


def test_mean_counts_rows():
    assert mean([[1.0], [5.0]], rows=[3, 1]).update.tolist() == [2.0]


def test_distances_are_those_of_updates_also_where_models_hardly_differ():
    rng = np.random.default_rng(0)
    tiny = (1e-4 * rng.normal(size=(10, 20_000))).astype(np.float32) + np.float32(1.0)
    exact = np.square(tiny[:, None].astype(np.float64) - tiny[None].astype(np.float64)).sum(axis=2)
    assert squared_distances(tiny) == pytest.approx(exact, rel=1e-4, abs=1e-9)


matrices = st.integers(0, 2**32 - 1).map(
    lambda seed: (
        np.random.default_rng(seed).normal(size=(11, 6)) * np.exp(np.random.default_rng(seed).normal())
    )
)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=15, deadline=None)
@given(updates=matrices, seed=st.integers(0, 1000))
def test_order_of_clients_does_not_matter(name, updates, seed):
    order = np.random.default_rng(seed).permutation(len(updates))
    one, other = run(name, updates), run(name, updates[order])
    assert other.update == pytest.approx(one.update, rel=1e-6, abs=1e-9)
    assert other.scores == pytest.approx(one.scores[order], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"fltrust"}))
@settings(max_examples=15, deadline=None)
@given(updates=matrices)
def test_result_lies_within_the_updates(name, updates):
    found = run(name, updates)
    assert (found.update >= updates.min(axis=0) - 1e-9).all() or name in ("weighted", "believed")
    assert np.isclose(found.weights.sum(), 1.0)
    assert (found.weights >= 0).all()


@pytest.mark.parametrize(
    "name", ["krum", "multi-krum", "median", "trimmed-mean", "bulyan", "weighted", "believed"]
)
def test_breakdown_point(name):
    """As many liars as a rule stands leave the result near the honest, however far away; the mean is gone."""
    rng = np.random.default_rng(1)
    clean = rng.normal(1.0, 0.05, (11, 30))
    f = min(3, STANDS[name](11)) if name in STANDS else 3
    dirty = clean.copy()
    dirty[:f] = -1e6
    found = run(name, dirty, f)
    assert np.abs(found.update - 1.0).max() < 0.5
    assert np.abs(mean(dirty).update).max() > 1e4
    # The last that Bulyan chooses may be liars; its second step is there for them.
    assert found.scores[:f].max() <= found.scores[f:].min() or name == "bulyan"


@pytest.mark.parametrize("name", RULES)
def test_equal_updates_give_that_update(name):
    found = run(name, np.full((7, 3), 2.0))
    scale = 1.0 if name != "fltrust" else np.sqrt(3) / np.sqrt(12)
    assert found.update == pytest.approx(np.full(3, 2.0 * scale))
    assert np.ptp(found.scores) < 1e-9 or name == "bulyan"


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("updates", "said"),
    [
        (np.ones((1, 3)), "at least 2 clients, got 1"),
        ([[1.0, 2.0], [1.0]], "client 1 has 1 values, client 0 has 2"),
        (np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, np.inf]]), "client 1 has 1 missing or infinite"),
        (np.ones((3, 0)), "there is no parameter"),
        (np.ones(3), "one row of numbers per client"),
        (np.array([["a", "b"], ["c", "d"]]), "must be numbers"),
    ],
)
def test_bad_updates_are_one_sentence(name, updates, said):
    with pytest.raises(InputError, match=said) as error:
        RULES[name](updates, *_extra(name))
    assert "\n" not in str(error.value)


def _extra(name):
    """What a rule takes beside the updates."""
    extra = {"fltrust": [np.ones(2)], "recess": [np.zeros(2)]}
    return [0] if name in STANDS else extra.get(name, [])


@pytest.mark.parametrize(("rule", "n"), [(krum, 6), (multi_krum, 6), (trimmed_mean, 4), (bulyan, 10)])
def test_more_liars_than_a_rule_stands_are_refused(rule, n):
    with pytest.raises(InputError, match="needs"):
        rule(np.random.default_rng(0).normal(size=(n, 2)), malicious=2)


def test_a_server_without_an_update_is_refused():
    with pytest.raises(InputError, match="the server's update is zero"):
        fltrust(np.ones((3, 2)), server=[0.0, 0.0])


def test_large_values_do_not_overflow():
    huge = np.full((5, 2), 1e38, dtype=np.float32)
    huge[4] = -1e38
    assert np.isfinite(median(huge).update).all()


# --- other packages ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some():
    return np.random.default_rng(3).normal(size=(15, 40))


def test_as_byzfl(some):
    theirs = byzfl_aggregators()
    assert median(some).update == pytest.approx(theirs.Median()(some))
    assert trimmed_mean(some, 3).update == pytest.approx(theirs.TrMean(3)(some))
    # It sums over one neighbour more than the paper does.
    assert krum(some, 3, neighbours=15 - 3 - 1).update == pytest.approx(theirs.Krum(3)(some))
    assert multi_krum(some, 3, neighbours=11).update == pytest.approx(theirs.MultiKrum(3)(some))
    assert geometric_median(some) == pytest.approx(theirs.GeometricMedian(nu=1e-9, T=200)(some), abs=1e-4)


def test_as_flower(some):
    aggregate = installed("flwr.server.strategy.aggregate")
    results = [([row], 1) for row in some]
    assert krum(some, 3).update == pytest.approx(aggregate.aggregate_krum(results, 3, 0)[0])
    assert median(some).update == pytest.approx(aggregate.aggregate_median(results)[0])
    assert trimmed_mean(some, 3).update == pytest.approx(aggregate.aggregate_trimmed_avg(results, 0.2)[0])


def test_trimmed_mean_as_scipy(some):
    assert trimmed_mean(some, 3).update == pytest.approx(stats.trim_mean(some, 0.2, axis=0))


def test_bulyan_as_printed(some):
    """Step by step from the paper, without the sorting that makes ours fast."""
    f, left, chosen = 3, list(range(15)), []
    while len(chosen) < 15 - 2 * f:
        apart = squared_distances(some[left])
        keep = max(len(left) - f - 2, 1)
        scores = [np.sort(np.delete(apart[i], i))[:keep].sum() for i in range(len(left))]
        chosen.append(left.pop(int(np.argmin(scores))))
    part = some[sorted(chosen)]
    beta, middle = len(chosen) - 2 * f, np.median(part, axis=0)
    order = np.argsort(np.abs(part - middle), axis=0, kind="stable")[:beta]
    assert bulyan(some, f).update == pytest.approx(np.take_along_axis(part, order, axis=0).mean(axis=0))


# --- ours -------------------------------------------------------------------------------------------------


def liars(count, n=20, seed=0):
    rng = np.random.default_rng(seed)
    honest_ones = rng.normal(0.1, 0.1, (n - count, 400))
    return np.vstack([honest_ones, rng.normal(-0.1, 0.1, (count, 400))])


@pytest.mark.parametrize("count", [0, 1, 4, 8])
def test_believed_finds_liars_without_being_told_how_many(count):
    found = believed(liars(count))
    assert (found.scores[20 - count :] < 0.5).all()
    assert (found.scores[: 20 - count] > 0.5).all()


def test_nobody_is_left_out_where_honest_clients_differ():
    """Clients with data of their own: each update has a direction of its own beside the common one."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(12, 300)) * rng.uniform(0.5, 1.5, (12, 1))
    assert (believed(0.5 + own).scores > 0.5).all()


def test_credentials_decide_where_updates_cannot():
    updates = np.vstack([np.full((5, 50), 1.0), np.full((5, 50), -1.0)])
    updates += np.random.default_rng(0).normal(0, 0.05, updates.shape)
    r = np.r_[np.full(5, 0.9), np.full(5, 0.2)]
    plain, told = believed(updates), believed(updates, r=r)
    assert told.scores[:5].mean() - told.scores[5:].mean() > plain.scores[:5].mean() - plain.scores[5:].mean()


def test_earlier_rounds_count_and_fade():
    assert remembered(np.array([5.0]), np.array([-3.0])).tolist() == [1.0]
    agrees = np.column_stack([np.full(10, 0.5), np.zeros(10)])
    before = np.r_[np.zeros(9), -8.0]
    assert honest(agrees, before=before)[0][9] < 0.5 < honest(agrees)[0][9]


@pytest.mark.parametrize(
    "recipe", ["krum", "multiplicative", "softmax", "adaptive", "guarded", "uniform", "evidence"]
)
def test_any_recipe_weighs_updates(recipe):
    updates = liars(6)
    r = np.r_[np.full(14, 0.8), np.full(6, 0.2)]
    found = weighted(updates, r=r, recipe=recipe)
    assert np.isclose(found.weights.sum(), 1.0)
    if recipe != "uniform":
        assert found.weights[14:].sum() < 0.05
    assert found.gate.reason


def test_freshness_lowers_a_late_update():
    updates = np.random.default_rng(0).normal(1, 0.01, (5, 20))
    found = weighted(updates, t=[1, 1, 1, 1, 0.5], recipe="uniform")
    assert found.weights[4] == pytest.approx(found.weights[0] / 2)


def test_shouting_gains_nothing():
    updates = np.random.default_rng(0).normal(1, 0.05, (9, 30))
    loud = updates.copy()
    loud[8] *= 1e4
    assert norms(believed(loud).update[None])[0] <= 1.2 * norms(believed(updates).update[None])[0]


def test_sketch_keeps_distances():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(6, 50_000))
    exact = squared_distances(updates)
    apart = squared_distances(sketched(updates, 4_096, rng))
    off = ~np.eye(6, dtype=bool)
    assert np.abs(apart[off] / exact[off] - 1).max() < 0.1
