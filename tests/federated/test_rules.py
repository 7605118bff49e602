"""Rules of aggregation: numbers worked out by hand, laws, other packages on the same input, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.agreement import geometric_median
from anml.federated.client_krum import krum, multi_krum
from anml.federated.rules import bulyan, fltrust, mean, median, recess, trimmed_mean
from anml.federated.weighted import weighted
from other_packages import byzfl_aggregators, installed

# Rules by name; those with a limit take the number of malicious clients, at most that of n clients.
RULES = {
    "mean": mean, "krum": krum, "multi-krum": multi_krum, "median": median, "trimmed-mean": trimmed_mean,
    "bulyan": bulyan, "fltrust": fltrust, "recess": recess, "weighted": weighted,
}  # fmt: skip
MAX_MALICIOUS = {
    "krum": lambda n: (n - 3) // 2, "multi-krum": lambda n: (n - 3) // 2,
    "trimmed-mean": lambda n: (n - 1) // 2, "bulyan": lambda n: (n - 3) // 4,
}  # fmt: skip
LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])
F = 2


def run(name, updates, f=F):
    """Any rule with what it needs."""
    if name in MAX_MALICIOUS:
        return RULES[name](updates, malicious=min(f, MAX_MALICIOUS[name](len(updates))))
    if name == "fltrust":
        return RULES[name](updates, server=np.ones(np.asarray(updates).shape[1]))
    if name == "recess":
        return RULES[name](updates, abnormal=np.zeros(len(updates)))
    return RULES[name](updates)


def test_median_and_trimmed_mean_by_hand():
    assert median(LINE).update.tolist() == [2.0]
    assert median(LINE[:4]).update.tolist() == [1.5]
    result = trimmed_mean(LINE, malicious=1)
    assert result.update.tolist() == [2.0]
    assert result.scores.tolist() == [0, 1, 1, 1, 0]


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
    result = run(name, updates)
    assert (result.update >= updates.min(axis=0) - 1e-9).all() or name == "weighted"
    assert np.isclose(result.weights.sum(), 1.0)
    assert (result.weights >= 0).all()


@pytest.mark.parametrize("name", ["krum", "multi-krum", "median", "trimmed-mean", "bulyan", "weighted"])
def test_breakdown_point(name):
    """As many liars as a rule stands leave the result near the honest, however far away; the mean is gone."""
    rng = np.random.default_rng(1)
    clean = rng.normal(1.0, 0.05, (11, 30))
    f = min(3, MAX_MALICIOUS[name](11)) if name in MAX_MALICIOUS else 3
    dirty = clean.copy()
    dirty[:f] = -1e6
    result = run(name, dirty, f)
    assert np.abs(result.update - 1.0).max() < 0.5
    assert np.abs(mean(dirty).update).max() > 1e4
    # The last that Bulyan chooses may be liars; its second step is there for them.
    assert result.scores[:f].max() <= result.scores[f:].min() or name == "bulyan"


@pytest.mark.parametrize("name", RULES)
def test_equal_updates_give_that_update(name):
    result = run(name, np.full((7, 3), 2.0))
    scale = 1.0 if name != "fltrust" else np.sqrt(3) / np.sqrt(12)
    assert result.update == pytest.approx(np.full(3, 2.0 * scale))
    assert np.ptp(result.scores) < 1e-9 or name == "bulyan"


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("updates", "message"),
    [
        (np.ones((1, 3)), "at least 2 clients, got 1"),
        ([[1.0, 2.0], [1.0]], "client 1 has 1 values, client 0 has 2"),
        (np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, np.inf]]), "client 1 has 1 missing or infinite"),
        (np.ones((3, 0)), "there is no parameter"),
        (np.ones(3), "one row of numbers per client"),
        (np.array([["a", "b"], ["c", "d"]]), "must be numbers"),
    ],
)
def test_bad_updates_are_one_sentence(name, updates, message):
    with pytest.raises(InputError, match=message) as error:
        RULES[name](updates, *_extra(name))
    assert "\n" not in str(error.value)


def _extra(name):
    """Return the arguments of a rule other than the updates."""
    extra = {"fltrust": [np.ones(2)], "recess": [np.zeros(2)]}
    return [0] if name in MAX_MALICIOUS else extra.get(name, [])


@pytest.mark.parametrize(("rule", "n"), [(krum, 6), (multi_krum, 6), (trimmed_mean, 4), (bulyan, 10)])
def test_more_liars_than_a_rule_stands_are_refused(rule, n):
    with pytest.raises(InputError, match="needs"):
        rule(np.random.default_rng(0).normal(size=(n, 2)), malicious=2)


@pytest.fixture(scope="module")
def subset():
    return np.random.default_rng(3).normal(size=(15, 40))


def test_as_byzfl(subset):
    theirs = byzfl_aggregators()
    assert median(subset).update == pytest.approx(theirs.Median()(subset))
    assert trimmed_mean(subset, 3).update == pytest.approx(theirs.TrMean(3)(subset))
    # It sums over one neighbour more than the paper does.
    assert krum(subset, 3, neighbours=15 - 3 - 1).update == pytest.approx(theirs.Krum(3)(subset))
    assert multi_krum(subset, 3, neighbours=11).update == pytest.approx(theirs.MultiKrum(3)(subset))
    assert geometric_median(subset) == pytest.approx(theirs.GeometricMedian(nu=1e-9, T=200)(subset), abs=1e-4)


def test_as_flower(subset):
    aggregate = installed("flwr.server.strategy.aggregate")
    results = [([row], 1) for row in subset]
    assert krum(subset, 3).update == pytest.approx(aggregate.aggregate_krum(results, 3, 0)[0])
    assert median(subset).update == pytest.approx(aggregate.aggregate_median(results)[0])
    assert trimmed_mean(subset, 3).update == pytest.approx(aggregate.aggregate_trimmed_avg(results, 0.2)[0])
