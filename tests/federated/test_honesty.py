"""P(honest) of clients: who is believed, by updates, credentials and earlier rounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liars import liars

from anml.core.errors import InputError
from anml.federated.agreement import agreement, sketch_and_clip
from anml.federated.honesty import MAX_CARRIED_NATS, ROUND_DECAY, carry_over_evidence, p_honest
from anml.federated.updates import norms
from anml.federated.weighted import weighted


def chance(updates, credentials=None):
    """P(honest) by the updates, and by credentials."""
    agrees = agreement(*sketch_and_clip(updates, np.random.default_rng(0)))
    return p_honest(agrees, credentials)[0]


def believed(updates, **more):
    return weighted(updates, recipe="evidence", **more)


@pytest.mark.parametrize("count", [0, 1, 4, 8])
def test_believed_finds_liars_without_being_told_how_many(count):
    result = chance(liars(count))
    assert (result[20 - count :] < 0.5).all()
    assert (result[: 20 - count] > 0.5).all()


def test_nobody_is_left_out_where_honest_clients_differ():
    """Clients with data of their own: each update has a direction of its own beside the common one."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(12, 300)) * rng.uniform(0.5, 1.5, (12, 1))
    assert (chance(0.5 + own) > 0.5).all()


def test_credentials_that_go_with_what_updates_say_make_it_surer():
    updates = np.vstack([np.full((6, 50), 1.0), np.full((4, 50), -1.0)])
    updates += np.random.default_rng(0).normal(0, 0.05, updates.shape)
    plain, known = chance(updates), chance(updates, np.r_[np.full(6, 0.9), np.full(4, 0.2)][:, None])
    assert (1 - known[:6] < 0.7 * (1 - plain[:6])).all()
    assert (known[6:] < 0.5).all()


def test_earlier_rounds_count_and_fade():
    assert carry_over_evidence(np.array([5.0]), np.array([-3.0])).tolist() == [1.0]
    agrees = np.column_stack([np.full(10, 0.5), np.zeros(10), np.zeros(10)])
    before = np.r_[np.zeros(9), -8.0]
    assert p_honest(agrees, before=before)[0][9] < 0.5 < p_honest(agrees)[0][9]


def test_shouting_gains_nothing():
    updates = np.random.default_rng(0).normal(1, 0.05, (9, 30))
    loud = updates.copy()
    loud[8] *= 1e4
    assert norms(believed(loud).update[None])[0] <= 1.4 * norms(believed(updates).update[None])[0]


seeds = st.integers(0, 99)


@settings(max_examples=15)
@given(seeds, st.integers(0, 6))
def test_weights_and_chances_are_what_they_say(seed, count):
    result = believed(liars(count, seed=seed))
    assert ((result.by_updates >= 0) & (result.by_updates <= 1)).all()
    assert result.weights.sum() == pytest.approx(1)
    assert (np.abs(result.nats) <= MAX_CARRIED_NATS).all()


@settings(max_examples=15)
@given(seeds)
def test_what_updates_say_does_not_depend_on_credentials_or_the_past(seed):
    """A reputation is fed with it, and must not be fed by its own effect."""
    updates = liars(4, seed=seed)
    r = np.random.default_rng(seed).uniform(size=20)
    plain, known = believed(updates), believed(updates, v=r, r=1 - r, before=r)
    np.testing.assert_array_equal(plain.by_updates, known.by_updates)
    np.testing.assert_array_equal(plain.nats, known.nats)


@settings(max_examples=15)
@given(seeds, st.integers(0, 19), st.floats(0, 6))
def test_a_better_past_never_lowers_a_client(seed, at, more):
    cosine = np.random.default_rng(seed).normal(0.4, 0.2, 20)
    agrees = np.column_stack([cosine, np.zeros(20), np.zeros(20)])
    before = np.zeros(20)
    better = before.copy()
    better[at] = more
    assert p_honest(agrees, before=better)[0][at] >= p_honest(agrees, before=before)[0][at] - 1e-6


def test_freshness_lowers_a_weight_and_no_belief():
    updates = liars(0)
    t = np.r_[0.5, np.ones(19)]
    plain, late = believed(updates), believed(updates, t=t)
    np.testing.assert_array_equal(plain.by_updates, late.by_updates)
    assert late.weights[0] / late.weights[1] == pytest.approx(0.5 * plain.weights[0] / plain.weights[1])


def test_where_nobody_is_believed_all_count_alike():
    updates = liars(0, n=6)
    result = believed(updates, before=np.full(6, -50.0))
    np.testing.assert_allclose(result.weights, 1 / 6)


@settings(max_examples=15)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5), st.lists(st.floats(-3, 3), min_size=5, max_size=5))
def test_the_past_fades_by_a_fifth_a_round(before, nats):
    before, nats = np.array(before), np.array(nats[: len(before)])
    np.testing.assert_allclose(carry_over_evidence(before, nats), ROUND_DECAY * before + nats)
    assert ROUND_DECAY == 0.8


def test_what_is_remembered_is_bounded():
    """A client that always did well is worth fifteen nats at most: three over one minus 0.8."""
    total = np.zeros(1)
    for _ in range(200):
        total = carry_over_evidence(total, np.array([MAX_CARRIED_NATS]))
    assert total[0] == pytest.approx(MAX_CARRIED_NATS / (1 - ROUND_DECAY))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"v": [0.5]}, "v has 1 values for 20"),
        ({"r": 1.5}, r"r must lie in \[0, 1\]"),
        ({"t": [2.0] * 20}, "t must lie"),
    ],
)
def test_bad_credentials_are_named(more, says):
    with pytest.raises(InputError, match=says):
        believed(liars(0), **more)


@pytest.mark.parametrize("reach", [0.5, 1.0])
def test_many_who_stand_elsewhere_together_are_told_apart(reach):
    # Thirty of a hundred point the other way, in updates that hardly agree at all.
    rng = np.random.default_rng(0)
    way = rng.normal(size=2_000) / 2_000**0.5
    updates = rng.normal(size=(100, 2_000)) / 2_000**0.5 + reach * way
    updates[:30] *= -1
    scores = chance(updates)
    assert (scores[:30] < 0.5).mean() > 0.9
    assert (scores[30:] > 0.5).mean() > 0.95
