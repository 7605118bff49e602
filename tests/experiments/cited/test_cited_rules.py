"""Training in rounds: updates as they arrive, scores and weights as means over rounds."""

from dataclasses import replace

import numpy as np
import pytest

from anml.federated.updates import Aggregated
from anml.gradients.mlp import initialise
from experiments.cited import rules as federation
from experiments.cited.rules import federate, shape_of, simulate_updates, training_of
from experiments.cited.trials import make_trial
from experiments.federated_clients import Clients
from experiments.spec import Setting

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen():
    return make_trial(Setting(dataset="wine", attack="made-up", contributors=5, bad=0.4), 0, 0).seen


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(federation, "N_ROUNDS", 3)


def test_the_model_is_the_sum_of_the_updates(seen, few_rounds):
    """A rule that answers with the same update every round moves the model by three of it."""
    start = initialise(shape_of(seen), [seen.seed]).flat[0]
    step = np.full(len(start), 0.25, dtype=np.float32)
    rounds = []

    def rule(at):
        rounds.append(at.number)
        return Aggregated(step, np.full(seen.clients, float(at.number)), np.ones(seen.clients))

    found = federate(seen, rule)
    assert rounds == [0, 1, 2]
    assert found.model.numpy() == pytest.approx((start + 0.75).numpy(), abs=1e-5)
    # Means over rounds 0, 1, 2.
    assert found.scores.tolist() == [1.0] * 5
    assert [at.number for at in found.rounds] == [0, 1, 2]


def test_who_only_pretends_sends_noise_as_long_as_the_others(seen):
    shape = shape_of(seen)
    clients = Clients.of(seen.x, seen.y, seen.contributor, shape)
    model = initialise(shape, [seen.seed]).flat[0]
    updates = simulate_updates(seen, clients, model, 0, training_of(seen))
    honest = simulate_updates(
        replace(seen, noise_updates=np.zeros(5, dtype=bool)), clients, model, 0, training_of(seen)
    )
    fake = seen.noise_updates
    assert fake.sum() == 2
    assert np.array_equal(updates[~fake], honest[~fake])
    usual = np.median(np.linalg.norm(honest[~fake], axis=1))
    assert np.linalg.norm(updates[fake], axis=1) == pytest.approx(np.full(2, usual), rel=1e-4)
    again = simulate_updates(seen, clients, model, 0, training_of(seen))
    assert np.array_equal(again, updates)
    assert not np.array_equal(
        simulate_updates(seen, clients, model, 1, training_of(seen))[fake], updates[fake]
    )


def test_steps_are_about_as_many_whatever_the_rows(seen):
    """25 rows a client are one batch of 32: ten epochs are ten steps."""
    assert training_of(seen).epochs == 10
    many = replace(seen, contributor=np.zeros(320, dtype=np.int64))
    assert training_of(many).epochs == 1
