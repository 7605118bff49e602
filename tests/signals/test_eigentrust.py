"""Trust from who vouched for whom: by hand, then laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError
from anml.signals.eigentrust import eigentrust, reachable, trust_event_counts
from other_packages import installed


def test_eigentrust_by_hand():
    # root -> ann, everybody else silent: t(ann) = .85 t(root), t(root) = .15 + .85 t(ann).
    trust = eigentrust({("root", "ann"): 1.0}, ["root"])
    assert trust["ann"] == pytest.approx(0.85 * trust["root"])
    assert sum(trust.values()) == pytest.approx(1.0)


def test_a_ring_of_friends_gains_nothing():
    ring = {(f"s{i}", f"s{(i + 1) % 5}"): 100.0 for i in range(5)}
    trust = eigentrust({("root", "ann"): 1.0, ("ann", "root"): 1.0, **ring}, ["root"])
    assert max(trust[f"s{i}"] for i in range(5)) == 0.0


def test_eigentrust_says_what_is_wrong():
    with pytest.raises(AnmlError, match="in the pre-trusted set"):
        eigentrust({("a", "b"): 1.0}, [])
    with pytest.raises(AnmlError, match="not negative"):
        eigentrust({("a", "b"): -1.0}, ["a"])


people = st.sampled_from(["root", "ann", "bob", "cat", "dan"])
votes_ = st.dictionaries(st.tuples(people, people), st.just(0.0) | st.floats(0.01, 10), max_size=12)


def by_matrix(votes, trusted, restart=0.15):
    """The stationary vector of the paper's chain, solved as linear equations."""
    names = sorted({name for pair in votes for name in pair} | set(trusted))
    start = np.array([name in trusted for name in names], dtype=float)
    start /= start.sum()
    rows = []
    for one in names:
        row = np.array([0.0 if one == other else votes.get((one, other), 0.0) for other in names])
        rows.append(row / row.sum() if row.sum() > 0 else start)
    spread = np.array(rows)
    result = np.linalg.solve(np.eye(len(names)) - (1 - restart) * spread.T, restart * start)
    return dict(zip(names, result, strict=True))


@settings(max_examples=15)
@given(votes_, st.sets(people, min_size=1, max_size=2))
def test_is_the_stationary_vector(votes, trusted):
    result, slow = eigentrust(votes, trusted), by_matrix(votes, trusted)
    assert result.keys() == slow.keys()
    for name, value in result.items():
        assert value == pytest.approx(slow[name], abs=1e-9)


@settings(max_examples=15)
@given(votes_, st.floats(0.1, 100))
def test_only_proportions_of_a_voters_votes_count(votes, factor):
    louder = {
        (one, other): value * (factor if one == "ann" else 1.0) for (one, other), value in votes.items()
    }
    before, after = eigentrust(votes, ["root"]), eigentrust(louder, ["root"])
    for name, value in before.items():
        assert after[name] == pytest.approx(value, abs=1e-9)


@settings(max_examples=15)
@given(votes_)
def test_praise_of_oneself_is_ignored(votes):
    praised = {**votes, **{(name, name): 50.0 for pair in votes for name in pair}}
    assert eigentrust(praised, ["root"]) == pytest.approx(eigentrust(votes, ["root"]))


@settings(max_examples=15)
@given(votes_)
def test_who_is_not_reached_has_no_trust_and_everybody_reached_has_some(votes):
    trust = eigentrust(votes, ["root"])
    result = reachable({pair: value for pair, value in votes.items() if pair[0] != pair[1]}, ["root"])
    large = {name for name, value in trust.items() if value > 1e-6}
    assert large <= result
    assert {name for name in trust if name not in result} <= {n for n, value in trust.items() if value < 1e-9}


@settings(max_examples=15)
@given(votes_, st.floats(0.1, 4))
def test_nobody_is_endorsed_beyond_what_a_root_counts_for(votes, events):
    result = trust_event_counts(votes, ["root"], events)
    assert all(0 < value <= events for value in result.values())
    if result:
        assert result["root"] == pytest.approx(events)


@pytest.mark.parametrize(
    ("votes", "roots", "events"), [({}, ["a"], 3), ({("a", "b"): 1}, [], 3), ({("a", "b"): 1}, ["a"], 0)]
)
def test_without_votes_roots_or_events_nobody_is_endorsed(votes, roots, events):
    assert trust_event_counts(votes, roots, events) == {}


def test_trust_falls_along_a_chain():
    chain = {("root", "a"): 1.0, ("a", "b"): 1.0, ("b", "c"): 1.0}
    trust = eigentrust(chain, ["root"])
    # Each passes on 85% of what it has.
    assert trust["b"] == pytest.approx(0.85 * trust["a"])
    assert trust["c"] == pytest.approx(0.85 * trust["b"])


@pytest.mark.parametrize("restart", [0.0, -0.1, 1.5])
def test_some_trust_must_flow_from_the_roots(restart):
    with pytest.raises(InputError, match=r"restart must lie in \(0, 1\]"):
        eigentrust({("a", "b"): 1.0}, ["a"], restart)


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
