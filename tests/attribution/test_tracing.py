"""`trace` of an index: shares, intervals and the self-check on a small classifier."""

import numpy as np
import pytest
from attribution_world import NAMES, trained, world

import anml


@pytest.fixture(scope="module")
def case():
    x, y, codes, clean = world()
    net, states = trained(x[:240], y[:240], np.arange(240), 0)
    return x, y, codes, clean, net, states


def test_without_a_check_it_says_so(case):
    x, y, codes, clean, net, states = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240], checkpoints=[states])
    result = index.trace((x[240:], clean[240:]))
    assert result.check["status"] == "not checked"
    frame = result.contributors
    assert frame["contributor"].sort().to_list() == sorted(NAMES)
    assert frame["share"].sum() == pytest.approx(1)
    assert (frame["low"] <= frame["share"]).all()
    assert (frame["share"] <= frame["high"]).all()
    # The one codes flips every label helps least.
    assert frame["contributor"].to_list()[-1] == "hal"
    assert frame["share"].to_list()[-1] == pytest.approx(0)
    assert frame.filter(contributor="hal")["influence"].item() < 0
    assert result.queries.height == 80 * len(NAMES)
    assert result.influence.shape == (80, len(NAMES))


def test_the_check_retrains_and_reports(case):
    x, y, codes, clean, net, states = case
    calls = []

    def retrain(rows, seed):
        calls.append((np.asarray(rows), seed))
        return trained(x[:240], y[:240], rows, seed)[1]

    index = anml.attribution.index(
        net, (x[:240], y[:240]), codes[:240], checkpoints=[states], retrain=retrain
    )
    result = index.trace((x[240:], clean[240:]))
    assert len(calls) == 10
    # Every model takes as many rows as the whole training; seeds differ.
    assert {len(rows) for rows, _ in calls} == {240}
    assert len({seed for _, seed in calls}) == 10
    check = result.check
    assert check["status"] == "checked"
    assert check["retrainings"] == 10
    assert -1 <= check["low"] <= check["lds"] <= check["high"] <= 1
    assert check["query_lds"] > 0.2
    assert 0 < check["query_ceiling"] <= 1
    assert {"similarity", "gain_own_source_fixed", "damping", "checkpoints"} <= check.keys()
    assert result.contributors.filter(contributor="hal")["share"].item() < 0.03
    assert result.contributors["certain"].any()
    # Three rows behind each of the first five contributors, their own.
    for name, mine in result.rows.group_by("contributor"):
        assert mine.height == 3
        assert {codes[row] for row in mine["row"]} == set(name)


def test_names_are_only_names(case):
    x, y, codes, clean, net, states = case
    other = np.array([f"{9 - list(NAMES).index(name)}-{name}" for name in codes])
    one, two = (
        anml.attribution.index(net, (x[:240], y[:240]), names[:240], checkpoints=[states])
        .trace((x[240:], clean[240:]))
        .contributors.sort("share")
        for names in (codes, other)
    )
    assert [name[2:] for name in two["contributor"]] == one["contributor"].to_list()
    assert one["share"].to_numpy() == pytest.approx(two["share"].to_numpy(), abs=1e-6)


def test_queries_count_by_how_often_they_are_asked(case):
    x, y, codes, clean, net, _ = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240])
    subset = (x[240:242], clean[240:242])
    weighted = index.trace(subset, count=[3.0, 1.0]).contributors.sort("contributor")
    repeated = index.trace((x[[240, 240, 240, 241]], clean[[240, 240, 240, 241]])).contributors.sort(
        "contributor"
    )
    assert weighted["influence"].to_numpy() == pytest.approx(repeated["influence"].to_numpy(), abs=1e-6)


def test_credit_is_multiplied_by_reliability_and_influence_is_not(case):
    x, y, codes, clean, net, _ = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240])
    p = np.where(codes[:240] == "ann", 0.0, 1.0)
    plain, weighted = (
        index.trace((x[240:], clean[240:]), p_correct=each).contributors.sort("contributor")
        for each in (None, p)
    )
    assert plain["influence"].to_list() == weighted["influence"].to_list()
    assert weighted.filter(contributor="ann")["share"].item() == 0
