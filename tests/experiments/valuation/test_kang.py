"""Reputation of workers: by hand, and more good events never lower it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from experiments.valuation.kang import Opinion, combine_opinions, contract, kang, opinion


def test_kang_by_hand():
    belief, disbelief, doubt = opinion([3.0], [1.0], 0.2)
    assert (belief[0], disbelief[0], doubt[0]) == pytest.approx((0.6, 0.2, 0.2))
    assert opinion([0.0], [0.0]).uncertainty[0] == 1
    # Good then bad: 0.8 good, 1 bad that counts twice; (1 - 0.1) * 0.8 / 2.8 + 0.5 * 0.1.
    assert kang([[1.0], [0.0]], [[0.0], [1.0]])[0] == pytest.approx(0.9 * 0.8 / 2.8 + 0.05)


events = st.lists(st.floats(0, 20), min_size=1, max_size=6)


@given(events, events, st.floats(0, 1))
def test_an_opinion_is_shared_out_whole(good, bad, unsure):
    n = min(len(good), len(bad))
    result = opinion(good[:n], bad[:n], unsure)
    assert result.belief + result.disbelief + result.uncertainty == pytest.approx(np.ones(n))
    assert all((part >= 0).all() for part in result)


@given(st.integers(0, 99))
def test_more_good_events_never_lower_a_reputation(seed):
    rng = np.random.default_rng(seed)
    good, bad = rng.integers(0, 5, (4, 3)).astype(float), rng.integers(0, 5, (4, 3)).astype(float)
    more = good.copy()
    more[2, 1] += 1
    assert kang(more, bad)[1] >= kang(good, bad)[1] - 1e-12
    assert kang(more, bad)[[0, 2]] == pytest.approx(kang(good, bad)[[0, 2]])


def test_the_last_round_counts_most_and_bad_events_double():
    early, late = kang([[1.0], [0.0]], [[0.0], [1.0]])[0], kang([[0.0], [1.0]], [[1.0], [0.0]])[0]
    assert early < late
    assert kang([[1.0]], [[1.0]])[0] == pytest.approx(0.9 / 3 + 0.05)
    assert kang([[1.0]], [[1.0]], punished=1.0)[0] == pytest.approx(0.5)


def test_who_has_no_event_is_all_doubt():
    assert kang([[0.0]], [[0.0]], gamma=0.5)[0] == 0.5
    assert kang([[0.0]], [[0.0]], gamma=0.0)[0] == 0.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: opinion([1.0], [1.0], 1.5), r"uncertainty must lie in \[0, 1\]"),
        (lambda: kang([[1.0]], [[1.0]], recent=0.0), r"recent must lie in \(0, 1\]"),
        (lambda: kang(np.zeros((0, 2)), np.zeros((0, 2))), "round by round"),
    ],
)
def test_bad_arguments_are_named(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_a_recommendation_by_hand():
    """Own (0.4, 0.4, 0.2), told (0.8, 0, 0.2): doubt 0.04 / 0.36; belief (0.08 + 0.16) / 0.36."""
    own, known = (Opinion(*np.array(parts)[:, None]) for parts in ([0.4, 0.4, 0.2], [0.8, 0.0, 0.2]))
    result = combine_opinions(own, [known], [1.0])
    assert [float(part[0]) for part in result] == pytest.approx([0.24 / 0.36, 0.08 / 0.36, 0.04 / 0.36])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5))
def test_joined_opinions_are_opinions_and_never_less_sure(events):
    good, bad = np.array(events, dtype=float).T
    own, *others = (opinion([g], [b], 0.2) for g, b in zip(good, bad, strict=True))
    result = combine_opinions(own, others, np.ones(len(others)))
    assert float(sum(part[0] for part in result)) == pytest.approx(1)
    assert float(result.uncertainty[0]) <= float(own.uncertainty[0]) + 1e-12
    assert all(float(part[0]) >= -1e-12 for part in result)


def test_a_contract_by_hand():
    """Burdens 1 / 1 - 0.5 / 2 = 0.75 and 0.5 / 2 = 0.25: efforts 4 * 0.5 / (2 * 0.75), and 4."""
    result = contract([1.0, 2.0], [0.5, 0.5], worth=4.0)
    assert result.effort == pytest.approx([4 / 3, 4])
    assert result.reward == pytest.approx([16 / 9, 16 / 9 + (16 - 16 / 9) / 2])


@given(
    st.lists(st.floats(0.1, 5), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
    st.floats(0.1, 10),
    st.floats(0.1, 3),
)
def test_nobody_gains_by_another_item_and_nobody_loses(types, shares, worth, cost):
    level = np.sort(types)
    if (np.diff(level) < 1e-3).any():
        return
    effort, reward = contract(level, shares[: len(level)], worth, cost)
    gains = level[:, None] * reward - cost * effort**2
    own = gains.diagonal()
    slack = 1e-9 * np.abs(gains).max() + 1e-12
    assert (own >= -slack).all()
    assert (own[:, None] >= gains - slack).all()
    assert (np.diff(effort) >= -1e-9).all()
    # Whoever knew the types would ask for worth t / (2 cost): only the highest type works as much.
    assert (effort <= worth * level / (2 * cost) + 1e-6).all()
    assert effort[-1] == pytest.approx(worth * level[-1] / (2 * cost)) or effort[-1] == effort[-2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([2.0, 1.0], [0.5, 0.5], 1.0), "types must rise"),
        (([1.0], [0.5, 0.5], 1.0), "with one share each"),
        (([1.0, 2.0], [0.5, 0.0], 1.0), "shares must be above 0"),
        (([1.0], [1.0], 0.0), "worth must lie"),
    ],
)
def test_contracts_that_cannot_be(arguments, says):
    with pytest.raises(InputError, match=says):
        contract(*arguments)


def test_recommendations_need_weights():
    known = opinion([3.0], [1.0])
    for weights in ([0.0], [-1.0]):
        with pytest.raises(InputError, match="weights of recommendations"):
            combine_opinions(known, [known], weights)
