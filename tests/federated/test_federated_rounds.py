"""A federation without any framework: who is weighed how and why, and reputation that can be replayed."""

import numpy as np
import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.federated.rounds import Federation, Reply, split_usable
from anml.signals.track_record import replay
from anml.weighting.weigh import RECIPES

pytestmark = pytest.mark.slow

NAMES = [f"client-{i}" for i in range(10)]


def replies(number, liars=4, n=10, seed=0, **changed):
    """Honest clients pull one way, liars the other."""
    rng = np.random.default_rng([seed, number])
    rows = rng.normal(0.1, 0.1, (n, 300))
    if liars:
        rows[-liars:] = rng.normal(-0.1, 0.1, (liars, 300))
    results = [Reply(NAMES[i], rows[i]) for i in range(n)]
    return [changed.get(reply.client.replace("-", "_"), reply) for reply in results]


def run(federation, rounds=6, **how):
    for number in range(1, rounds + 1):
        federation.aggregate(number, replies(number, **how))
    return federation


def test_liars_lose_weight_and_reputation():
    result = run(Federation())
    last = result.history[-1]
    assert sum(last.weights()[name] for name in NAMES[6:]) == 0
    assert all(line.why.startswith("excluded by evidence: ") for line in last.lines[6:])
    assert max(result.reputation_of(n) for n in NAMES[6:]) < min(result.reputation_of(n) for n in NAMES[:6])


@pytest.mark.parametrize("recipe", RECIPES)
def test_any_recipe_and_its_gate_is_on_record(recipe):
    result = run(Federation(recipe), 3)
    assert all(each.gate.reason for each in result.history)
    for each in result.history:
        assert sum(each.weights().values()) == pytest.approx(1.0)


def test_the_same_rounds_give_the_same_weights_and_reputation_can_be_replayed():
    one, two = run(Federation()), run(Federation())
    assert [each.weights() for each in one.history] == [each.weights() for each in two.history]
    for name in NAMES:
        mine = [event for contributor, event in one.events if contributor == name]
        assert replay(mine, mine[-1].at).r == one.reputation_of(name)


def test_reputation_of_a_round_comes_from_rounds_before_it():
    result = run(Federation(), 3)
    assert {line.r for line in result.history[0].lines} == {0.4}
    assert (
        result.reputation_of(NAMES[0], 2)
        == replay(
            [event for contributor, event in result.events if contributor == NAMES[0]][:1],
            result.events[0][1].at,
        ).r
    )


def test_reputation_never_hears_of_credentials():
    """Quality in the events is that of the updates alone, whatever v and r say."""
    known = Federation(verification=dict.fromkeys(NAMES[6:], 0.9), reputation=dict.fromkeys(NAMES, 0.9))
    plain = run(Federation())
    assert [e.quality for _, e in run(known).events] == [e.quality for _, e in plain.events]


def test_a_turncoat_is_found_within_a_few_rounds():
    result = Federation()
    for number in range(1, 16):
        result.aggregate(number, replies(number, liars=0 if number <= 8 else 1))
    weights = [each.weights()[NAMES[9]] for each in result.history]
    assert min(weights[:8]) > 0
    assert weights[-1] == 0


def test_dropouts_and_bad_replies_never_stop_a_round():
    broken = {
        "client_0": Reply(NAMES[0], None, why="it did not answer in time"),
        "client_1": Reply(NAMES[1], np.full(300, np.nan)),
        "client_2": Reply(NAMES[2], np.ones(7)),
        "client_3": Reply(NAMES[3], np.full(300, 0.1), stale=-1),
    }
    result = Federation()
    update = result.aggregate(1, replies(1, liars=2, **broken))
    assert np.isfinite(update).all()
    why = {line.client: line.why for line in result.history[0].lines}
    assert why[NAMES[0]] == "it did not answer in time"
    assert why[NAMES[1]] == "its update has missing or infinite values, or whole numbers"
    assert why[NAMES[2]] == "its update has 7 values, those of most 300"
    assert why[NAMES[3]] == "its update is from a round that has not been"
    assert not {name for name, _ in result.events} & set(NAMES[:4])


@pytest.mark.parametrize("rows", [0, -3, float("nan"), float("inf")])
def test_whoever_has_no_rows_is_left_out(rows):
    result = Federation()
    given = replies(1, liars=0)
    # Also where that is most of them.
    update = result.aggregate(
        1, [each if i < 3 else each._replace(rows=rows) for i, each in enumerate(given)]
    )
    assert np.isfinite(update).all()
    lines = result.history[0].lines
    assert [line.kept for line in lines] == [True] * 3 + [False] * 7
    assert lines[-1].why == f"it says that it has {rows} rows"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_endless_update_stops_nobody(kind):
    result = Federation()
    long = Reply(NAMES[0], np.full(300, 1e30, dtype=kind))
    assert np.isfinite(result.aggregate(1, replies(1, liars=0, client_0=long))).all()
    assert result.history[0].lines[0].why == "its update has values above 1e+09"


def test_a_straggler_counts_less():
    result = Federation("uniform", stale_half_life=1.0)
    result.aggregate(3, [reply._replace(stale=i == 0) for i, reply in enumerate(replies(3, liars=0))])
    weights = result.history[0].weights()
    assert weights[NAMES[0]] == pytest.approx(weights[NAMES[1]] / 2)


def test_too_few_clients_skip_a_round_and_say_so():
    result = Federation()
    assert result.aggregate(1, replies(1)[:1]) is None
    assert result.history[0].gate.branch == "skipped"
    assert result.history[0].gate.reason == "1 usable updates; two are needed to compare them"


def test_secure_aggregation_is_refused():
    hidden = [Reply(name, np.arange(5)) for name in NAMES]
    with pytest.raises(UnsupportedError, match=r"secure aggregation .* single updates are hidden"):
        Federation().aggregate(1, hidden)


def test_non_iid_clients_are_not_thrown_out():
    """Each client has a direction of its own, as with data of few classes."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(10, 300))
    result = Federation()
    for number in range(1, 6):
        rows = 0.4 + own + rng.normal(0, 0.3, own.shape)
        result.aggregate(number, [Reply(name, row) for name, row in zip(NAMES, rows, strict=True)])
    assert min(result.history[-1].weights().values()) > 0


def test_events_are_handed_to_whoever_keeps_them():
    kept = []
    run(Federation(on_round=kept.extend), 2)
    assert len(kept) == 20
    assert {event.source for _, event in kept} == {"held-out"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Federation("krumm"), "unknown recipe 'krumm'"),
        (lambda: Federation(verification={"a": 2.0}), r"verification must lie in \[0, 1\]"),
        (lambda: Federation(stale_half_life=0), "stale_half_life must lie in"),
        (
            lambda: Federation().aggregate(1, [Reply("a", np.ones(2)), Reply("a", np.ones(2))]),
            "answered twice",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_usable_of_nothing():
    assert split_usable([]) == ([], {})
    with pytest.raises(InputError, match="answered twice"):
        Federation().aggregate(1, [Reply("x", None), Reply("x", None)])


def test_the_rows_that_clients_say_they_have_count():
    updates = np.random.default_rng(0).normal(1, 0.05, (6, 80))
    federation = Federation()
    update = federation.aggregate(
        1, [Reply(f"c{i}", each, rows=30 if i == 0 else 10) for i, each in enumerate(updates)]
    )
    weights = federation.history[-1].weights()
    assert weights["c0"] == pytest.approx(3 * weights["c1"], rel=0.05)
    np.testing.assert_allclose(update, np.array([weights[f"c{i}"] for i in range(6)]) @ updates)


def test_clients_who_are_merely_different_are_not_left_out():
    """Each client holds parameters of its own beside a few that all share, as where classes differ."""
    rng = np.random.default_rng(0)
    federation = Federation()
    for number in range(1, 8):
        updates = rng.normal(0, 0.02, (10, 220))
        updates[:, :20] += 0.3
        for client in range(10):
            updates[client, 20 + 20 * client : 40 + 20 * client] += 0.3
        federation.aggregate(number, [Reply(f"c{i}", each) for i, each in enumerate(updates)])
    assert all(line.kept for each in federation.history for line in each.lines)


def test_one_round_against_a_client_accuses_nobody():
    federation = Federation()
    assert federation.honest("new") == pytest.approx(0.9)
    federation._memory["late"] = -3.0
    assert 0.05 < federation.honest("late") < 0.5
    federation._memory["late"] = -6.0
    assert federation.honest("late") < 0.05


def steps_of(federation, directions):
    """The step of each round in which ten clients pull into a direction, and each a little its own way."""
    results = []
    for number, direction in enumerate(directions, start=1):
        update = np.concatenate([np.broadcast_to(direction, (10, 2)), 3 * np.eye(10)], axis=1)
        replied = [Reply(name, row) for name, row in zip(NAMES, update, strict=True)]
        moved = federation.aggregate(number, replied)
        assert moved[:2] == pytest.approx(federation.step * np.asarray(direction))
        results.append(federation.step)
    return results


def test_steps_grow_while_rounds_go_the_same_way_and_shrink_where_they_do_not():
    here, there = (1.0, 0.0), (0.0, 1.0)
    federation = Federation()
    first, second, third, fourth, fifth = steps_of(federation, [here, here, here, there, here])
    # The mean is 1 long and 3 * sqrt(0.1) aside of it; clients' updates have a squared length of 10.
    reach = 10 / (2 * 1.9)
    assert (first, second, third) == pytest.approx((1, 2, reach))
    aside = 0.9 / 1.9
    assert fourth == pytest.approx(third * 2 ** (2 * aside - 1))
    assert fifth == pytest.approx(max(1.0, fourth * 2 ** (2 * aside - 1)))
    # Once shorter, it does not grow again, however long rounds go the same way.
    assert steps_of(federation, [here, here, here])[-1] == pytest.approx(fifth)


@pytest.mark.parametrize("federation", [Federation(adaptive_step=False), Federation("uniform")])
def test_steps_stay_as_they_are_where_asked_and_with_other_recipes(federation):
    assert steps_of(federation, [(1.0, 0.0)] * 3) == [1, 1, 1]
